import { visit, Document as YamlDocument } from 'yaml';
import { type Document, OrganizationDocument } from '../core/configuration/document.ts';
import { isObject } from '../core/json.ts';
import { exportConfiguration } from '../services/configuration/declarative/declarative.ts';
import { flag, readArguments } from './arguments.ts';
import { type Command, usageError } from './command.ts';
import { remoteOf } from './remote.ts';

export const exportCommand: Command = {
  name: 'export',
  usage: '[ORG…] [--json]',
  summary: 'Print the current configuration as a file for `apply`.',
  details: `ORG     export only these organizations; required with BELFRY_URL
--json  print JSON instead of YAML

Secrets are not exported. Applying the file to the same organization keeps the stored ones.`,
  examples: ['belfry export > everything.yaml', 'belfry export acme'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { json: flag });
    const slugs = positionals.length > 0 ? [...new Set(positionals)] : undefined;
    const remote = remoteOf(terminal);
    if (remote && !slugs) throw usageError('name the organization to export: an API key has access to only one');

    let document: Document;
    if (remote && slugs) {
      const organizations: OrganizationDocument[] = [];
      for (const slug of slugs) {
        const answer = await remote.request('GET', `/api/o/${encodeURIComponent(slug)}/configuration/`);
        organizations.push(inOrder(OrganizationDocument, answer) as OrganizationDocument);
      }
      document = { organizations };
    } else document = await terminal.withDeps(deps => exportConfiguration(deps, slugs));

    terminal.print(values.json ? JSON.stringify(document, null, 2) : toYaml(document));
  },
};

/**
 * Does not fold long lines, which would make templates hard to read. Text with whitespace that a block would lose (blank
 * lines, leading whitespace) is quoted instead.
 */
export function toYaml(document: Document): string {
  const yaml = new YamlDocument(document, { aliasDuplicateObjects: false });
  visit(yaml, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value !== 'string' || isPlainLine.test(scalar.value)) return;
      scalar.type = isPlainBlock.test(scalar.value) ? 'BLOCK_LITERAL' : 'QUOTE_DOUBLE';
    },
  });
  return yaml.toString({ lineWidth: 0 }).replace(/\n$/, '');
}

/** A single line: the library decides whether it needs quotes. */
const isPlainLine = /^(?:\S|\S[^\p{Cc}\u2028\u2029]*\S)$/u;

/** Lines that are empty or start with a visible character, with at most one line break at the end. */
const isPlainBlock = /^(?![\s])(?:[^\p{Cc}\u2028\u2029\ufeff]*\S(?:\n+(?!$)|\n?$))+$/u;

/** Sorts fields in the order of the schema, because a server may send them in any order. */
function inOrder(schema: object, value: unknown): unknown {
  const { properties, items } = schema as { properties?: Record<string, object>; items?: object };
  if (Array.isArray(value)) return items ? value.map(item => inOrder(items, item)) : value;
  if (!properties || !isObject(value)) return value;
  const known = Object.keys(properties).filter(field => Object.hasOwn(value, field));
  const ordered = known.map(field => [field, inOrder(properties[field]!, value[field])]);
  return {
    ...Object.fromEntries(ordered),
    ...Object.fromEntries(Object.entries(value).filter(([f]) => !known.includes(f))),
  };
}
