/** What is paused: since when, and how much waits because of it. */
import { listOccurrenceChannels } from '../db/delivery-list.ts';
import { countHeld, type HeldCount, listPaused, type PausedPlace } from '../db/pauses.ts';
import type { Db } from '../db/pool.ts';
import { describeQueue } from '../db/stats.ts';
import type { Deps } from './deps.ts';
import { readInstancePause } from './instance.ts';
import { getOccurrence } from './occurrences.ts';

/** Further than this nobody wants to know, and looking stays cheap whatever has piled up. */
export const mostHeld = 10_000;

export interface Pause {
  /** `service`: nothing is sent for anybody, because the database may be a copy of another one. */
  kind: PausedPlace['kind'] | 'service';
  path: string;
  since: Date;
  waiting: Held;
}

export interface Held {
  /** Messages that are decided and would be sent. */
  messages: number;
  /** Triggers whose recipients are not looked up yet. */
  occurrences: number;
  /** Whether there may be more. */
  capped: boolean;
}

export async function listPauses(deps: Pick<Deps, 'db'>, organizationId: number): Promise<Pause[]> {
  return (await describePauses(deps, organizationId)).pauses;
}

/** With all that waits for a pause to end, whatever is paused. */
export async function describePauses({ db }: Pick<Deps, 'db'>, organizationId: number) {
  const paused = await listPaused(db, organizationId);
  const held = paused.length > 0 ? await countHeld(db, organizationId, mostHeld) : [];
  return { pauses: [...(await listServicePause(db, organizationId)), ...describe(paused, held)], held: sumOf(held) };
}

async function listServicePause(db: Db, organizationId: number): Promise<Pause[]> {
  const pause = await readInstancePause({ db });
  if (!pause) return [];
  const { due } = await describeQueue(db, organizationId, mostHeld);
  const waiting = { messages: due, occurrences: 0, capped: due >= mostHeld };
  return [{ kind: 'service', path: '', since: pause.since, waiting }];
}

/** Those that keep this occurrence from going on. */
export async function listPausesOfOccurrence(deps: Deps, organizationId: number, identifier: string): Promise<Pause[]> {
  const { db } = deps;
  const { status, event } = await getOccurrence(deps, organizationId, identifier);
  if (status === 'completed') return [];
  const ofService = await listServicePause(db, organizationId);
  const paused = await listPaused(db, organizationId);
  if (paused.length === 0) return ofService;
  const channels = new Set((await listOccurrenceChannels(db, organizationId, identifier)).map(({ id }) => id));
  const concerned = paused.filter(({ kind, id, path }) => {
    if (kind === 'channel') return channels.has(id);
    return path === event || (kind === 'application' && event?.startsWith(`${path}/`));
  });
  const held = concerned.length > 0 ? await countHeld(db, organizationId, mostHeld) : [];
  return [...ofService, ...describe(concerned, held)];
}

function describe(paused: PausedPlace[], held: HeldCount[]): Pause[] {
  const messages = held.filter(({ channel_id }) => channel_id !== null);
  const occurrences = held.filter(({ channel_id }) => channel_id === null);
  const capped = sumOf(messages) >= mostHeld || sumOf(occurrences) >= mostHeld;
  return paused.map(({ kind, id, path, since }) => {
    const own = (rows: HeldCount[]) => sumOf(rows.filter(row => row[`${kind}_id`] === id));
    return { kind, path, since, waiting: { messages: own(messages), occurrences: own(occurrences), capped } };
  });
}

function sumOf(rows: HeldCount[]): number {
  return rows.reduce((total, { count }) => total + count, 0);
}
