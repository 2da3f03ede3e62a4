import { NewSwap } from '../core/oncall/swaps.ts';
import { parse } from '../core/schema.ts';
import { listSwaps, type SwapRow } from '../db/audience/on-call/swaps.ts';
import { acceptSwap, createSwap, getSwap, withdrawSwap } from '../services/audience/on-call/swaps.ts';
import { flag, parseTime, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTime, printable } from './format.ts';
import { askSchedule, readSchedulePath, type SchedulePath } from './on-call.ts';
import { printRows, type Sent } from './rows.ts';

const maxRows = 10_000;

export const swap: Command = {
  name: 'swap',
  usage:
    'ORG/PRJ/SCHEDULE USER --from TIME --until TIME [--message TEXT] [--json] | ORG/PRJ/SCHEDULE USER --accept ID [--json] | ' +
    'ORG/PRJ/SCHEDULE --withdraw ID [--json] | ORG/PRJ/SCHEDULE --list [--json]',
  summary: 'Ask others to take a shift, or take one: the first who accepts gets it.',
  details: `USER            who asks and is on call then; with --accept, who takes the shift
--from TIME     when the shift begins, such as 2030-01-05T17:00:00Z
--until TIME    when it ends
--message TEXT  for the others of the schedule, in one line
--accept ID     take this shift, unless someone else has
--withdraw ID   do not ask any longer
--list          list swaps, newest first
--json          print JSON

The others of the schedule are asked by the event that it names in on_change. With BELFRY_URL, the key needs the permission
schedule:override, and for --list schedule:read.`,
  examples: [
    'belfry swap acme/ops/primary ann@acme.test --from 2030-01-05T17:00:00Z --until 2030-01-06T09:00:00Z',
    'belfry swap acme/ops/primary bob@acme.test --accept 7',
    'belfry swap acme/ops/primary --withdraw 7',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, options);
    const [target, user, ...others] = positionals;
    const path = readSchedulePath(target, 'swap');
    if (others.length > 0) throw usageError('name one user: see `belfry help swap`');
    if (values.list) return list(terminal, path, values.json);
    if (values.withdraw !== undefined) return withdraw(terminal, path, values.withdraw, values.json);
    if (!user) throw usageError('name the user: see `belfry help swap`');
    if (values.accept !== undefined) return accept(terminal, path, user, values.accept, values.json);
    const starts_at = parseTime('--from', values.from)?.toISOString();
    const ends_at = parseTime('--until', values.until)?.toISOString();
    if (!starts_at || !ends_at) throw usageError('say when with --from and --until');
    const input = { user, starts_at, ends_at, ...(values.message !== undefined && { message: values.message }) };
    const made = (await askSchedule(terminal, path, ['POST', 'swaps/', input], (deps, at) =>
      createSwap(deps, at, parse(NewSwap, input)),
    )) as unknown as Sent<SwapRow>;
    if (values.json) return terminal.print(JSON.stringify(made));
    terminal.print(printable(`${made.user} asks who can take over ${timesOf(made)}.`));
    terminal.print(`To accept it: belfry swap ${target} USER --accept ${made.id}`);
  },
};

const options = {
  from: string,
  until: string,
  message: string,
  accept: string,
  withdraw: string,
  list: flag,
  json: flag,
};

const timesOf = ({ starts_at, ends_at }: Sent<SwapRow>) => `from ${formatTime(starts_at)} until ${formatTime(ends_at)}`;

async function list(terminal: Terminal, path: SchedulePath, json: boolean | undefined): Promise<void> {
  const found = await askSchedule(terminal, path, ['GET', 'swaps/'], (deps, { organization, schedule }) =>
    listSwaps(deps.db, organization.id, schedule.id, { after: 0, limit: maxRows }),
  );
  printRows(terminal, found as unknown as Sent<SwapRow>[], { json }, 'There are no swaps.', {
    ID: one => String(one.id),
    STATE: one => one.state,
    'ASKED BY': one => printable(one.user),
    'TAKEN BY': one => printable(one.accepted_by ?? ''),
    FROM: one => formatTime(one.starts_at),
    UNTIL: one => formatTime(one.ends_at),
    MESSAGE: one => printable(one.message ?? ''),
  });
}

async function accept(
  terminal: Terminal,
  path: SchedulePath,
  user: string,
  text: string,
  json: boolean | undefined,
): Promise<void> {
  const id = readId('--accept', text);
  const taken = (await askSchedule(terminal, path, ['POST', `swaps/${id}/accept/`, { user }], async (deps, at) =>
    acceptSwap(deps, at, await getSwap(deps, at, id), user),
  )) as unknown as Sent<SwapRow>;
  if (json) return terminal.print(JSON.stringify(taken));
  terminal.print(printable(`${taken.accepted_by} is on call instead of ${taken.user} ${timesOf(taken)}.`));
}

async function withdraw(terminal: Terminal, path: SchedulePath, text: string, json: boolean | undefined) {
  const id = readId('--withdraw', text);
  const done = await askSchedule(terminal, path, ['DELETE', `swaps/${id}/`], async (deps, at) =>
    withdrawSwap(deps, at, await getSwap(deps, at, id)),
  );
  terminal.print(json ? JSON.stringify(done) : 'Withdrawn.');
}

function readId(option: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw usageError(`${option} must be the id of a swap: see \`belfry swap … --list\``);
  return Number(text);
}
