import { parseArgs } from 'node:util';
import { type Role, roles } from '../config.ts';
import { type Command, usageError } from './command.ts';

export const serve: Command = {
  name: 'serve',
  usage: '[--role all|api|worker]',
  summary: 'Run the service.',
  details: `--role  all (default), api (accepts requests only) or worker (sends only; serves /healthz, /readyz and /metrics)

Any number of processes on any number of machines can share one database. Settings come from the environment or a .env
file: see .env.example.`,
  examples: ['belfry serve', 'PORT=8001 belfry serve --role api'],
  async run(args, terminal) {
    const { values } = parseArgs({ args, options: { role: { type: 'string' } } });
    const role = values.role as Role | undefined;
    if (role && !roles.includes(role)) throw usageError(`--role must be one of ${roles.join(', ')}`);
    await terminal.serve(role);
    return 0;
  },
};
