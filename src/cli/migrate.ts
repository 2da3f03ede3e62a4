import { listAppliedMigrations } from '../services/operations/health.ts';
import { flag, readOptions } from './arguments.ts';
import type { Command } from './command.ts';

export const migrate: Command = {
  name: 'migrate',
  usage: '[--json]',
  summary: 'Migrate the database schema to the current version.',
  details: '`serve` migrates on start too. Several processes can start at the same time.',
  examples: ['belfry migrate'],
  async run(args, terminal) {
    const values = readOptions(args, { json: flag });
    // Opening the database migrates it.
    const applied = await terminal.withDeps(listAppliedMigrations, { mayCreate: true });
    if (values.json) terminal.print(JSON.stringify({ applied }));
    else terminal.print(`The schema is up to date at ${applied.at(-1)}.`);
  },
};
