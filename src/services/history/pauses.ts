/** Pauses: what is paused, since when, and how much is held because of it. */

import type { Db } from '../../db/connection/pool.ts';
import { listOccurrenceChannels } from '../../db/history/delivery-list.ts';
import { countHeld, type HeldCount, listPaused, type PausedResource } from '../../db/history/pauses.ts';
import { summarizeQueue } from '../../db/history/stats/stats.ts';
import { findInstancePause } from '../../db/operations/instance.ts';
import type { Deps } from '../deps.ts';
import { getOccurrence } from './occurrences.ts';

/** Counting stops here, so that it stays cheap however long the backlog is. */
export const maxHeld = 10_000;

export interface Pause {
  /** `service`: the whole instance is paused, because its database may be a copy of another one. */
  kind: PausedResource['kind'] | 'service';
  path: string;
  /** Of a key; else null. */
  id: string | null;
  since: Date;
  scope: PausedResource['scope'];
  reason: string | null;
  cause: PausedResource['cause'];
  waiting: HeldTotals;
}

export interface HeldTotals {
  /** Deliveries that would be sent. */
  messages: number;
  /** Occurrences that are not expanded yet. */
  occurrences: number;
  /** Whether a count reached its limit, so that there may be more. */
  capped: boolean;
}

export async function listPauses(deps: Pick<Deps, 'db'>, organizationId: number): Promise<Pause[]> {
  return (await describePauses(deps, organizationId)).pauses;
}

/** Lists pauses together with the total of what they hold. */
export async function describePauses({ db }: Pick<Deps, 'db'>, organizationId: number) {
  const paused = await listPaused(db, organizationId);
  const held = paused.length > 0 ? await countHeld(db, organizationId, maxHeld) : [];
  return { pauses: [...(await listServicePause(db, organizationId)), ...describe(paused, held)], held: sumOf(held) };
}

async function listServicePause(db: Db, organizationId: number): Promise<Pause[]> {
  const pause = await findInstancePause(db);
  if (!pause) return [];
  const { due } = await summarizeQueue(db, organizationId, maxHeld);
  const waiting = { messages: due, occurrences: 0, capped: due >= maxHeld };
  return [
    { kind: 'service', path: '', id: null, since: pause.since, scope: 'all', reason: null, cause: null, waiting },
  ];
}

/** Lists the pauses that hold this occurrence. */
export async function listPausesOfOccurrence(deps: Deps, organizationId: number, identifier: string): Promise<Pause[]> {
  const { db } = deps;
  const { status, event, key_id } = await getOccurrence(deps, organizationId, identifier);
  if (status === 'completed') return [];
  const servicePauses = await listServicePause(db, organizationId);
  const paused = await listPaused(db, organizationId);
  if (paused.length === 0) return servicePauses;
  const channels = new Set((await listOccurrenceChannels(db, organizationId, identifier)).map(({ id }) => String(id)));
  const relevant = paused.filter(({ kind, id, path }) => {
    if (kind === 'channel') return channels.has(id);
    if (kind === 'key') return id === key_id;
    return kind === 'organization' || path === event || event?.startsWith(`${path}/`);
  });
  const held = relevant.length > 0 ? await countHeld(db, organizationId, maxHeld) : [];
  return [...servicePauses, ...describe(relevant, held)];
}

function describe(paused: PausedResource[], held: HeldCount[]): Pause[] {
  const messages = held.filter(({ channel_id }) => channel_id !== null);
  const occurrences = held.filter(({ channel_id }) => channel_id === null);
  const capped = sumOf(messages) >= maxHeld || sumOf(occurrences) >= maxHeld;
  return paused.map(({ id, ...pause }) => {
    const own = (rows: HeldCount[]) => sumOf(rows.filter(row => String(row[`${pause.kind}_id`]) === id));
    return {
      ...pause,
      id: pause.kind === 'key' ? id : null,
      waiting: { messages: own(messages), occurrences: own(occurrences), capped },
    };
  });
}

function sumOf(rows: HeldCount[]): number {
  return rows.reduce((total, { count }) => total + count, 0);
}
