import { countOf } from '../lib/count-of.ts';
import { type ResumeResult, resumeSending } from '../services/operations/resume-sending.ts';
import { flag, readOptions } from './arguments.ts';
import { type Command, requireDatabaseHere, type Terminal, usageError } from './command.ts';
import { resumeTarget, usageWith } from './pause.ts';

export const resume: Command = {
  name: 'resume',
  usage: `${usageWith('[--per-second N] [--drop] [--json]')} | --as-original [--discard-pending] [--json] | --as-copy [--json]`,
  summary: 'Resume sending after `belfry pause`, or after the database was restored or cloned.',
  details: `After \`belfry pause\`, name what to resume as you named it there. What is held is sent at once, or:

--per-second N  Make so many messages per second due. A fan-out whose recipients are not decided yet counts as one.
--drop          Cancel what is held instead of sending it, unless another pause holds it, too.

A restored or cloned database does not know what the original has sent since. Belfry detects this, accepts triggers and
sends nothing until you choose:

--as-original      The database replaces the original. Messages that were pending when the backup was made are sent, even if
                   the original may have sent them since. Messages that were in flight are kept as unknown: you decide
                   whether to send them again.
--discard-pending  With --as-original: cancel pending messages instead. Use it when the backup is old.
--as-copy          The original keeps running, and this is a copy for testing. Pending messages are cancelled; only what is
                   triggered from now on is sent. Channels and webhooks still reach real recipients and servers: change
                   them before you trigger.
--json             Print the result as JSON.

Triggers that were accepted while sending was paused are sent in every case. Works directly on the database, also while a
server is running; running processes resume within seconds. See docs/guides/backup.md.`,
  examples: [
    'belfry resume acme',
    'belfry resume acme/shop/web/order-paid --per-second 50',
    'belfry resume acme --key importer --drop',
    'belfry resume --as-original',
    'belfry resume --as-original --discard-pending',
    'belfry resume --as-copy',
  ],
  async run(args, terminal) {
    if (args.some(arg => !arg.startsWith('-'))) return resumeTarget(args, terminal);
    const values = readOptions(args, { 'as-original': flag, 'as-copy': flag, 'discard-pending': flag, json: flag });
    const isCopy = values['as-copy'] ?? false;
    if (isCopy === (values['as-original'] ?? false)) {
      throw usageError(
        'name what to resume, such as ORG. After a restore, choose one: belfry resume --as-original or belfry resume --as-copy',
      );
    }
    requireDatabaseHere(terminal);
    const discardPending = isCopy || (values['discard-pending'] ?? false);
    const as = isCopy ? 'copy' : 'original';
    const resumed = await terminal.withDeps(deps => resumeSending(deps, { as, discardPending }));
    if (values.json) terminal.print(JSON.stringify({ as, ...resumed }));
    else printResult(terminal, resumed, isCopy);
  },
};

function printResult(terminal: Terminal, { unknown, cancelled }: ResumeResult, isCopy: boolean): void {
  const { occurrences, messages } = cancelled;
  if (occurrences > 0)
    terminal.print(`${countOf(occurrences, 'occurrence')} cancelled, with ${countOf(messages, 'message')}.`);
  if (unknown > 0) terminal.print(`${countOf(unknown, 'message')} in flight kept as unknown.`);
  terminal.print(`Sending resumed as ${isCopy ? 'a copy' : 'the original'}.`);
  if (isCopy && terminal.config.outboxes.length > 0) {
    terminal.warn("BELFRY_OUTBOX_URLS is set: this copy would drain the original's outboxes. Unset it here.");
  }
}
