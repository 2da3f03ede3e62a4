import type { Command } from './command.ts';
import { runOnFiles } from './declarative-run.ts';

export const apply: Command = {
  name: 'apply',
  usage: 'FILE… [--prune] [--json]',
  summary: 'Apply configuration files.',
  details: `FILE     YAML or JSON file, or - for standard input. Write secrets as \${env:NAME}.
--prune  also delete what is not in the files. Sections that a file does not have (users, channels, members…) and
         organizations that no file mentions are never touched.
--json   print the changes as JSON

All changes are applied or, if there is an error anywhere, none. Applying the same files again changes nothing.
See docs/configuration.md.`,
  examples: ['belfry apply acme.yaml', 'belfry apply acme.yaml umbrella.yaml --prune', 'belfry apply - < acme.yaml'],
  run: (args, terminal) => runOnFiles('apply', args, terminal),
};
