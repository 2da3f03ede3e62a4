import { parseArgs } from 'node:util';
import { visit, Document as YamlDocument } from 'yaml';
import { type Document, OrganizationDocument } from '../core/configuration/document.ts';
import { isObject } from '../core/json.ts';
import { exportConfiguration } from '../services/declarative.ts';
import { type Command, wrongUsage } from './command.ts';
import { remoteOf } from './remote.ts';

export const exportCommand: Command = {
  name: 'export',
  usage: '[ORG…] [--json]',
  summary: 'Prints the configuration as it is, as a file that `apply` takes.',
  details: `ORG     only these organizations; with BELFRY_URL at least one has to be named
--json  JSON instead of YAML

Secrets are never printed. Applied to the same organization the file keeps those that are stored.`,
  examples: ['belfry export > everything.yaml', 'belfry export acme'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const slugs = positionals.length > 0 ? [...new Set(positionals)] : undefined;
    const remote = remoteOf(terminal.config);
    if (remote && !slugs) throw wrongUsage('name the organization to export: a key reaches only one');

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
    return 0;
  },
};

/**
 * Long lines stay whole, as folding them would hide what a template says. Text whose blanks a block would lose (a line of
 * blanks, blanks at the beginning) is quoted instead.
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

/** Left to the library, which knows when a line needs quotes. */
const isPlainLine = /^(?:\S|\S[^\p{Cc}\u2028\u2029]*\S)$/u;

/** Lines that begin with something to see, or are empty, and end with at most one break. */
const isPlainBlock = /^(?![\s])(?:[^\p{Cc}\u2028\u2029\ufeff]*\S(?:\n+(?!$)|\n?$))+$/u;

/** Fields in the order of the schema: a server sends them in any. */
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
