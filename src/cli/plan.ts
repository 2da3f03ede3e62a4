import type { Command } from './command.ts';
import { runOnFiles } from './declarative-run.ts';

export const plan: Command = {
  name: 'plan',
  usage: 'FILE… [--prune] [--json]',
  summary: 'Shows what `apply` would change, and changes nothing.',
  details: `FILE     YAML or JSON; - is standard input. Secrets may be written \${env:NAME}.
--prune  also show what would be deleted
--json   print the changes for machines

Mistakes are told by file, line and field.`,
  examples: ['belfry plan acme.yaml', 'belfry plan acme.yaml --prune'],
  run: (args, terminal) => runOnFiles('plan', args, terminal),
};
