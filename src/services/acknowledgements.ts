/** Answers to an occurrence: somebody has it in hand, or it is over. Both are final, and say who and when. */
import type { Actor } from '../core/actor.ts';
import { AppError } from '../core/errors.ts';
import { priorityOf, type TriggerOptions } from '../core/trigger.ts';
import { type Answered, acknowledgeOccurrence, resolveOccurrence } from '../db/occurrence-ends.ts';
import { findOccurrence } from '../db/occurrences.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { countEnded } from './occurrences.ts';

export interface Answers {
  acknowledged_at: string | null;
  acknowledged_by: string | null;
  resolved_at: string | null;
  resolved_by: string | null;
  /** Whether it is this answer that counts. */
  changed: boolean;
  /** Deliveries that will not be sent because of it. */
  cancelled: number;
}

/** As the timeline names whoever answered. */
export function nameOf({ kind, name }: Actor): string {
  return kind === 'key' ? `API key ${name}` : name;
}

/** Ends every later step, and cancels what is pending of them, before this is answered. */
export async function acknowledge(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string = nameOf(deps.actor),
): Promise<Answers> {
  const answered = await acknowledgeOccurrence(deps.pool, organizationId, identifier, by);
  if (answered?.isFirst) {
    deps.acknowledgementTimes.add(answered.ms);
    countEnded(deps, answered.ended);
    await note(deps, organizationId, identifier, 'acknowledge', by);
  }
  return show(identifier, answered);
}

/** The same for good: it is over. Where a notification says so, those who were told hear of it. */
export async function resolve(
  deps: Deps,
  organizationId: number,
  identifier: string,
  by: string = nameOf(deps.actor),
): Promise<Answers> {
  const tell = await listToTell(deps, organizationId, identifier);
  const answered = await resolveOccurrence(deps.pool, organizationId, identifier, by, tell);
  if (answered?.isFirst) {
    countEnded(deps, answered.ended);
    await note(deps, organizationId, identifier, 'resolve', by);
  }
  return show(identifier, answered);
}

async function listToTell({ db, plans }: Deps, organizationId: number, identifier: string) {
  const occurrence = await findOccurrence(db, organizationId, identifier);
  const plan = occurrence && (await plans.findEvent(organizationId, occurrence.event_id));
  const options = (occurrence?.options ?? {}) as TriggerOptions;
  const told = plan?.notifications.filter(({ steps }) => steps?.notifyResolved) ?? [];
  return told.map(({ id, priority }) => ({ notificationId: id, priority: priorityOf(options, priority, false) }));
}

function show(identifier: string, answered: Answered | undefined): Answers {
  if (!answered) throw new AppError('occurrence.not_found', `there is no occurrence ${identifier}`);
  const { acknowledged_at, acknowledged_by, resolved_at, resolved_by, isFirst, cancelled } = answered;
  return {
    acknowledged_at: acknowledged_at?.toISOString() ?? null,
    acknowledged_by,
    resolved_at: resolved_at?.toISOString() ?? null,
    resolved_by,
    changed: isFirst,
    cancelled,
  };
}

/** After the fact: a worker may see the effect at once. */
async function note(deps: Deps, organizationId: number, path: string, action: string, by: string): Promise<void> {
  await record(deps, deps.db, organizationId, { action, noun: 'occurrence', path, after: { by } });
}
