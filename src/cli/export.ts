import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import type { Document, OrganizationDocument } from '../core/declarative.ts';
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
        organizations.push(await remote.request('GET', `/api/o/${encodeURIComponent(slug)}/configuration/`));
      }
      document = { organizations };
    } else document = await terminal.withDeps(deps => exportConfiguration(deps, slugs));

    terminal.print(values.json ? JSON.stringify(document, null, 2) : toYaml(document));
    return 0;
  },
};

/** Long lines stay whole: folding them would hide what a template says. */
export function toYaml(document: Document): string {
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
}
