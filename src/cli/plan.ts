import type { Command } from './command.ts';
import { runOnFiles } from './declarative-run.ts';

export const plan: Command = {
  name: 'plan',
  usage: 'FILE… [--prune] [--no-gaps] [--json]',
  summary: 'Show what `apply` would change, without changing anything.',
  details: `FILE       YAML or JSON file, or - for standard input. Write secrets as \${env:NAME}.
--prune    also show what would be deleted
--no-gaps  exit code 1 if schedules of the projects in the files would have times within 92 days at which no one is on call
--json     print the changes as JSON

Errors are reported with file, line and field.`,
  examples: ['belfry plan acme.yaml', 'belfry plan acme.yaml --prune', 'belfry plan acme.yaml --no-gaps'],
  run: (args, terminal) => runOnFiles('plan', args, terminal),
};
