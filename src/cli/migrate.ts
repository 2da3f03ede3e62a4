import { parseArgs } from 'node:util';
import { listAppliedMigrations } from '../services/health.ts';
import type { Command } from './command.ts';

export const migrate: Command = {
  name: 'migrate',
  usage: '[--json]',
  summary: "Brings the database's schema up to date.",
  details: '`serve` does this too, safely when several processes start at once.',
  examples: ['belfry migrate'],
  async run(args, terminal) {
    const { values } = parseArgs({ args, options: { json: { type: 'boolean' } } });
    // Opening the database migrates it.
    const applied = await terminal.withDeps(listAppliedMigrations, { mayCreate: true });
    if (values.json) terminal.print(JSON.stringify({ applied }));
    else terminal.print(`The schema is up to date at ${applied.at(-1)}.`);
    return 0;
  },
};
