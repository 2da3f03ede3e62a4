/** Accepting triggers, and asking or changing what becomes of them. */
import { hash } from 'node:crypto';
import type pg from 'pg';
import { AppError, invalid } from '../core/errors.ts';
import { uuidv7 } from '../core/ids.ts';
import { canonicalJson, type Json, type JsonObject } from '../core/json.ts';
import { planTrigger, type TriggerOptions } from '../core/trigger.ts';
import { type NewOccurrence, type Stored, storeOccurrencesAcrossTenants } from '../db/accepting.ts';
import { cancelOccurrence, findDelivery, findOccurrence, replayOccurrence } from '../db/occurrences.ts';
import type { Place } from '../db/places.ts';
import { isUnavailable, sqlState } from '../db/pool.ts';
import { Batcher } from '../lib/batcher.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export { listDeliveries, listOccurrences } from '../db/occurrences.ts';

export interface Trigger {
  context?: JsonObject;
  options?: TriggerOptions;
  correlationId?: string;
  /** From the header; the option of the same meaning is in `options`. */
  idempotencyKey?: string;
  /** Whoever triggers: the id of the key. */
  keyId?: string;
}

export function createOccurrenceBatcher(writer: pg.Pool): Batcher<NewOccurrence, Stored> {
  return new Batcher(items => storeOccurrencesAcrossTenants(writer, items), {
    mostPerBatch: 500,
    mostWaiting: 20_000,
    full: () =>
      new AppError('service.unavailable', 'triggers arrive faster than they can be stored', { retryAfterSeconds: 1 }),
    isItemsFault: error => sqlState(error) !== undefined && !isUnavailable(error),
  });
}

/**
 * Returns the identifier of the occurrence once it is stored for good. The hot path: nothing here asks the database but
 * the one batched statement that stores.
 */
export async function triggerEvent(
  { tenantCache, occurrences, usage }: Deps,
  place: Required<Place>,
  trigger: Trigger,
): Promise<string> {
  const { organization, project, application, event } = place;
  const { context = {}, options = {} } = trigger;
  if (!event.active) {
    throw new AppError('event.inactive', `the event ${event.slug} is not active: activate it before triggering it`);
  }
  const now = Date.now();
  usage.admitTrigger(organization, options.recipients?.length ?? 0, now);
  const channels = options.channels ? await tenantCache.listUsableChannels(organization.id, project.id) : [];
  const timing = planTrigger(options, channels, now, event.priority);

  const stored = await occurrences.add({
    organization_id: organization.id,
    id: uuidv7(now),
    project_id: project.id,
    application_id: application.id,
    event_id: event.id,
    priority: timing.priority,
    context,
    options: options as Json,
    correlation_id: trigger.correlationId,
    key_id: trigger.keyId,
    due_at: timing.dueAt.getTime() === now ? undefined : timing.dueAt,
    expires_at: timing.expiresAt ?? undefined,
    created_at: new Date(now),
    idempotency: idempotencyOf(context, options, trigger.idempotencyKey),
  });
  if ('conflict' in stored) {
    throw new AppError(
      'idempotency.conflict',
      'this idempotency key was used for this event with another body: use a new key for a new message',
    );
  }
  return stored.id;
}

function idempotencyOf(
  context: JsonObject,
  { idempotency_key: fromOptions, ...options }: TriggerOptions,
  fromHeader: string | undefined,
): NewOccurrence['idempotency'] {
  if (fromHeader && fromOptions && fromHeader !== fromOptions) {
    throw invalid({ 'options/idempotency_key': ['differs from the Idempotency-Key header: give one of them'] });
  }
  const key = fromOptions ?? fromHeader;
  if (!key) return undefined;
  return { key, body_hash: hash('sha256', canonicalJson({ context, options })) };
}

export async function hasOccurrence({ db }: Deps, organizationId: number, identifier: string): Promise<boolean> {
  return (await findOccurrence(db, organizationId, identifier)) !== undefined;
}

export async function hasDelivery(
  { db }: Deps,
  organizationId: number,
  identifier: string,
  id: number,
): Promise<boolean> {
  return (await findDelivery(db, organizationId, identifier, id)) !== undefined;
}

export async function getOccurrence({ db }: Deps, organizationId: number, identifier: string) {
  const occurrence = await findOccurrence(db, organizationId, identifier);
  if (!occurrence) throw new AppError('occurrence.not_found', `there is no occurrence ${identifier}`);
  return occurrence;
}

/** What is sent already stays sent. */
export async function cancel(deps: Deps, organizationId: number, identifier: string): Promise<number> {
  const cancelled = await cancelOccurrence(deps.pool, organizationId, identifier);
  if (cancelled === undefined) {
    throw new AppError(
      'occurrence.ended',
      'there is nothing left to cancel: the occurrence has ended or was cancelled',
    );
  }
  await note(deps, organizationId, { action: 'cancel', noun: 'occurrence', path: identifier, after: { cancelled } });
  return cancelled;
}

export async function replay(deps: Deps, organizationId: number, identifier: string): Promise<number> {
  const replayed = await replayOccurrence(deps.pool, organizationId, identifier);
  await note(deps, organizationId, { action: 'replay', noun: 'occurrence', path: identifier, after: { replayed } });
  return replayed;
}

/** One delivery again; what is not failed or unknown stays as it is. */
export async function retryDelivery(deps: Deps, organizationId: number, identifier: string, id: number) {
  const retried = await replayOccurrence(deps.pool, organizationId, identifier, id);
  if (retried === 0) {
    throw new AppError('delivery.not_failed', 'only what failed, or whose outcome is unknown, can be sent again');
  }
  await note(deps, organizationId, { action: 'retry', noun: 'delivery', path: `${identifier}/${id}` });
}

/** After the fact: the statements above commit by themselves, and a worker may see their effect at once. */
async function note(deps: Deps, organizationId: number, entry: Parameters<typeof record>[3]): Promise<void> {
  await record(deps, deps.db, organizationId, entry);
}
