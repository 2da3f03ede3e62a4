import type { Command } from './command.ts';
import { runOnFiles } from './declarative-run.ts';

export const apply: Command = {
  name: 'apply',
  usage: 'FILE… [--prune] [--json]',
  summary: 'Makes the configuration what the files say.',
  details: `FILE     YAML or JSON; - is standard input. Secrets may be written \${env:NAME}.
--prune  also delete what is not in the files. A section that a file does not have (users, channels, members…) and
         an organization that no file mentions are never touched.
--json   print the changes for machines

All of it happens or, when there is a mistake anywhere, none. Applying the same files again changes nothing.`,
  examples: ['belfry apply acme.yaml', 'belfry apply acme.yaml umbrella.yaml --prune', 'belfry apply - < acme.yaml'],
  run: (args, terminal) => runOnFiles('apply', args, terminal),
};
