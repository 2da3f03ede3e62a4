import { parseArgs } from 'node:util';
import { type Role, roles } from '../config.ts';
import { type Command, wrongUsage } from './command.ts';

export const serve: Command = {
  name: 'serve',
  usage: '[--role all|api|worker]',
  summary: 'Runs the service.',
  details:
    'Any number of processes, on any number of machines, share one database. A worker answers /healthz, /readyz and\n' +
    '/metrics only. Settings come from the environment or a file .env: see .env.example.',
  examples: ['belfry serve', 'PORT=8001 belfry serve --role api'],
  async run(args, terminal) {
    const { values } = parseArgs({ args, options: { role: { type: 'string' } } });
    const role = values.role as Role | undefined;
    if (role && !roles.includes(role)) throw wrongUsage(`--role must be one of ${roles.join(', ')}`);
    await terminal.serve(role);
    return 0;
  },
};
