/** What is paused: since when, and how much waits because of it. */
import { listOccurrenceChannels } from '../db/delivery-list.ts';
import { countHeld, type HeldCount, listPaused, type PausedPlace } from '../db/pauses.ts';
import type { Deps } from './deps.ts';
import { getOccurrence } from './occurrences.ts';

/** Further than this nobody wants to know, and looking stays cheap whatever has piled up. */
export const mostHeld = 10_000;

export interface Pause extends Pick<PausedPlace, 'kind' | 'path' | 'since'> {
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
  return { pauses: describe(paused, held), held: sumOf(held) };
}

/** Those that keep this occurrence from going on. */
export async function listPausesOfOccurrence(deps: Deps, organizationId: number, identifier: string): Promise<Pause[]> {
  const { db } = deps;
  const { status, event } = await getOccurrence(deps, organizationId, identifier);
  if (status === 'completed') return [];
  const paused = await listPaused(db, organizationId);
  if (paused.length === 0) return [];
  const channels = new Set((await listOccurrenceChannels(db, organizationId, identifier)).map(({ id }) => id));
  const concerned = paused.filter(({ kind, id, path }) => {
    if (kind === 'channel') return channels.has(id);
    return path === event || (kind === 'application' && event?.startsWith(`${path}/`));
  });
  return describe(concerned, concerned.length > 0 ? await countHeld(db, organizationId, mostHeld) : []);
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
