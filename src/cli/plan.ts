import type { Command } from './command.ts';
import { runOnFiles } from './declarative-run.ts';

export const plan: Command = {
  name: 'plan',
  usage: 'FILE… [--prune] [--json]',
  summary: 'Show what `apply` would change, without changing anything.',
  details: `FILE     YAML or JSON file, or - for standard input. Write secrets as \${env:NAME}.
--prune  also show what would be deleted
--json   print the changes as JSON

Errors are reported with file, line and field.`,
  examples: ['belfry plan acme.yaml', 'belfry plan acme.yaml --prune'],
  run: (args, terminal) => runOnFiles('plan', args, terminal),
};
