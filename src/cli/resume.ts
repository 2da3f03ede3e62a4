import { parseArgs } from 'node:util';
import { type Resumed, resumeSending } from '../services/resume.ts';
import { type Command, requireDatabaseHere, type Terminal, wrongUsage } from './command.ts';

export const resume: Command = {
  name: 'resume',
  usage: '--as-original [--discard-pending] | --as-copy [--json]',
  summary: 'Sends again, after the database was restored or cloned.',
  details: `A database that was restored from a backup, or is a clone, does not know what the original has sent since. Belfry
recognises it, accepts triggers and sends nothing until you say what it is:

--as-original      it takes the place of the original. What was waiting when the backup was made is sent, also what the
                   original may have sent since; what was in flight is kept as unknown, for you to send again or not
--discard-pending  with --as-original: what was waiting is cancelled instead. Right when the backup is old
--as-copy          the original goes on, and this is for trying things out. What was waiting is cancelled, and only what is
                   triggered from now on is sent. Channels and webhooks still reach real people and servers: change them
                   before you trigger

Triggers that were accepted while sending was paused are sent in every case. Works on the database, whether or not a
server is running; running processes go on within seconds. See docs/guides/backup.md.`,
  examples: ['belfry resume --as-original', 'belfry resume --as-original --discard-pending', 'belfry resume --as-copy'],
  async run(args, terminal) {
    const { values } = parseArgs({
      args,
      options: {
        'as-original': { type: 'boolean' },
        'as-copy': { type: 'boolean' },
        'discard-pending': { type: 'boolean' },
        json: { type: 'boolean' },
      },
    });
    const isCopy = values['as-copy'] ?? false;
    if (isCopy === (values['as-original'] ?? false)) {
      throw wrongUsage('say what this database is: belfry resume --as-original or belfry resume --as-copy');
    }
    requireDatabaseHere(terminal);
    const discardPending = isCopy || (values['discard-pending'] ?? false);
    const as = isCopy ? 'copy' : 'original';
    const resumed = await terminal.withDeps(deps => resumeSending(deps, { as, discardPending }));
    if (values.json) terminal.print(JSON.stringify({ as, ...resumed }));
    else tell(terminal, resumed, isCopy);
    return 0;
  },
};

function tell(terminal: Terminal, { unknown, cancelled }: Resumed, isCopy: boolean): void {
  const { occurrences, messages } = cancelled;
  if (occurrences > 0)
    terminal.print(`${count(occurrences, 'occurrence')} cancelled, with ${count(messages, 'message')}.`);
  if (unknown > 0) terminal.print(`${count(unknown, 'message')} in flight at the time of the copy kept as unknown.`);
  terminal.print(`Sending is resumed, as ${isCopy ? 'a copy' : 'the original'}.`);
  if (isCopy && terminal.config.outboxes.length > 0) {
    terminal.warn("BELFRY_OUTBOX_URLS is set: a copy takes the original's triggers from there. Unset it here.");
  }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
