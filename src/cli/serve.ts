import { roles } from '../config.ts';
import { oneOf, readOptions, string } from './arguments.ts';
import type { Command } from './command.ts';

export const serve: Command = {
  name: 'serve',
  usage: '[--role all|api|worker]',
  summary: 'Run the service.',
  details: `--role  all (default), api (accepts requests only) or worker (sends only; serves /healthz, /readyz and /metrics)

Any number of processes on any number of machines can share one database. Settings come from the environment or a .env
file: see .env.example.`,
  examples: ['belfry serve', 'PORT=8001 belfry serve --role api'],
  async run(args, terminal) {
    await terminal.serve(oneOf('--role', roles, readOptions(args, { role: string }).role));
  },
};
