/** Accepts triggers: everything from the validated body to the stored occurrence. */
import { hash } from 'node:crypto';
import { largeBytes } from '../../core/configuration/limits.ts';
import { giveUpMs } from '../../core/decision/steps.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { eventAttributes, occurrenceAttributes } from '../../core/history/span-attributes.ts';
import { uuidv7 } from '../../core/ids.ts';
import { canonicalJson, type Json, type JsonObject } from '../../core/json.ts';
import type { AttachmentReference } from '../../core/message/attachments.ts';
import { planTrigger, type TriggerOptions } from '../../core/trigger.ts';
import type { ResolvedPath, Slugs } from '../../db/configuration/organizations.ts';
import { encodeOccurrence, type NewOccurrence, type StoredOccurrence } from '../../db/ledger/accept/accept.ts';
import { encodeKeyedOccurrence, findKeyedOccurrence } from '../../db/ledger/accept/dedup.ts';
import { nextTurn } from '../../lib/load/slices.ts';
import { traceIdOf } from '../../lib/telemetry/traces.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { resolve } from './acknowledgements/acknowledgements.ts';
import { linkUploads, unlinkUploads } from './attachments.ts';

interface Trigger {
  /** Id of the occurrence, if the caller has assigned it already. Storing it again does nothing. */
  id?: string;
  context?: JsonObject;
  options?: TriggerOptions;
  /** Size of the request body, which counts towards the organization's trigger rate. */
  bytes?: number;
  correlationId?: string;
  /** From the Idempotency-Key header; `options` can have one as well. */
  idempotencyKey?: string;
  /** Id of the API key, or of the account, that triggers. */
  keyId?: string;
  /** Trace context header of the caller, unparsed. */
  traceparent?: string;
  /** Called with the trace id, if there is a trace. */
  onTrace?: (traceId: string) => void;
}

/**
 * Returns the id of the occurrence once it is durably stored. This is the hot path: with warm caches, its only query is
 * the batched insert.
 */
export async function triggerEvent(deps: Deps, path: Required<ResolvedPath>, trigger: Trigger): Promise<string> {
  if (!deps.traces) return accept(deps, path, trigger);
  const { span, traceparent } = deps.traces.begin('accept', trigger.traceparent);
  if (traceparent) trigger.onTrace?.(traceIdOf(traceparent));
  span?.set(eventAttributes(path, path.event.slug));
  try {
    const id = await accept(deps, path, trigger, traceparent);
    span?.set(occurrenceAttributes(id));
    span?.end();
    return id;
  } catch (error) {
    span?.end(error instanceof AppError ? error.code : 'service.internal');
    throw error;
  }
}

/** Finds an event that the configuration names. Throws `event.not_found` with the message. */
export async function requireEvent(
  { tenantCache }: Pick<Deps, 'tenantCache'>,
  slugs: Slugs,
  message: string,
): Promise<Required<ResolvedPath>> {
  const path = await tenantCache.resolvePath(slugs);
  if (!path?.event) throw new AppError('event.not_found', message);
  return path as Required<ResolvedPath>;
}

async function accept(
  deps: Deps,
  path: Required<ResolvedPath>,
  trigger: Trigger,
  traceparent?: string,
): Promise<string> {
  const { tenantCache, contextSchemas, triggers, triggerCounts, usage } = deps;
  const { organization, project, application, event } = path;
  const { context = {}, options = {} } = trigger;
  if (!event.active) {
    throw new AppError('event.inactive', `event ${event.slug} is not active: activate it before triggering it`);
  }
  const now = currentTime();
  usage.admitTrigger(organization, options.recipients?.length ?? 0, now, trigger.bytes);
  const channels = options.channels ? await tenantCache.listUsableChannels(organization.id, project.id) : [];
  const timing = planTrigger(options, channels, now, event.priority);
  // Resolving takes no context.
  if (!options.resolve) await contextSchemas.check(path, context);

  const { dedup_key, resolve: isResolution } = options;
  if (isResolution) {
    const open = await findKeyedOccurrence(deps.db, organization.id, event.id, dedup_key!);
    if (open && (await resolve(deps, organization.id, open).catch(unlessGone))) return open;
  }
  const occurrence: NewOccurrence = {
    organization_id: organization.id,
    id: trigger.id ?? uuidv7(now),
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
    traceparent,
  };
  // Encoding 1 MiB takes several ms: other work gets a turn first.
  if ((trigger.bytes ?? 0) > largeBytes) await nextTurn();
  const store = async () =>
    dedup_key === undefined || isResolution
      ? triggers.add(encodeOccurrence(occurrence, trigger.bytes))
      : triggers.addKeyed(encodeKeyedOccurrence(occurrence, dedup_key, await closesAt(deps, path, now), trigger.bytes));
  const stored = await (options.attachments?.some(({ id }) => id !== undefined)
    ? storeWithUploads(deps, occurrence, options.attachments, store)
    : store());
  if ('conflict' in stored) {
    throw new AppError(
      'idempotency.conflict',
      'this idempotency key was already used for this event with a different body: use a new key',
    );
  }
  if (!options.dry_run) triggerCounts.count(path, trigger.keyId, timing.priority);
  return stored.id;
}

/** Links the uploads first, so that none can expire before the occurrence is stored. */
async function storeWithUploads(
  deps: Deps,
  { organization_id, id }: NewOccurrence,
  references: readonly AttachmentReference[],
  store: () => Promise<StoredOccurrence>,
): Promise<StoredOccurrence> {
  await linkUploads(deps, organization_id, id, references);
  const stored = await store();
  // The trigger was a repetition, or joined an open occurrence.
  if (!('id' in stored) || stored.id !== id) await unlinkUploads(deps, organization_id, id);
  return stored;
}

/** Ignores an occurrence that retention has deleted. */
function unlessGone(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== 'occurrence.not_found') throw error;
}

/** Returns when the dedup key closes: an occurrence stays open as long as its steps can run, then the key starts a new one. */
async function closesAt({ plans }: Deps, { organization, event }: Required<ResolvedPath>, now: number): Promise<Date> {
  const plan = await plans.findEvent(organization.id, event.id);
  const own = plan?.notifications.flatMap(({ steps }) => (steps ? [steps.giveUpMs] : [])) ?? [];
  return new Date(now + (own.length > 0 ? Math.max(...own) : giveUpMs(null)));
}

function idempotencyOf(
  context: JsonObject,
  { idempotency_key: fromOptions, ...options }: TriggerOptions,
  fromHeader: string | undefined,
): NewOccurrence['idempotency'] {
  if (fromHeader && fromOptions && fromHeader !== fromOptions) {
    throw invalid({ 'options/idempotency_key': ['differs from the Idempotency-Key header: send only one of them'] });
  }
  const key = fromOptions ?? fromHeader;
  if (!key) return undefined;
  return { key, body_hash: hash('sha256', canonicalJson({ context, options })) };
}
