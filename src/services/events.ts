/** Events: what applications trigger. */
import { hash } from 'node:crypto';
import { sampleContext } from '../core/context-sample.ts';
import { mergeEntry, refuseChanges, slugAdvice } from '../core/entries.ts';
import { AppError, invalid } from '../core/errors.ts';
import { uuidv7 } from '../core/ids.ts';
import { canonicalJson, type Json, type JsonObject } from '../core/json.ts';
import { generalSlug } from '../core/preferences.ts';
import { eventAttributes, occurrenceAttributes } from '../core/span-attributes.ts';
import { giveUpMs } from '../core/steps.ts';
import { planTrigger, type TriggerOptions } from '../core/trigger.ts';
import type { NewOccurrence } from '../db/accepting.ts';
import { findKeyedOccurrence } from '../db/dedup.ts';
import * as events from '../db/events.ts';
import { listEventNotifications } from '../db/notifications.ts';
import type { Place, Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { summarizeWaiting, type Waiting } from '../db/waiting.ts';
import { traceIdOf } from '../lib/traces.ts';
import { resolve } from './acknowledgements.ts';
import type { Application } from './applications.ts';
import type { Deps } from './deps.ts';
import {
  type Check,
  change,
  createdBy,
  type Deleted,
  type Deletion,
  deleteEntry,
  pause,
  putEntry,
  requirePlace,
  resume,
} from './entries.ts';

export interface Event extends Application {
  active: boolean;
  /** Slug. */
  category: string;
  /** Null: any context will do. */
  context_schema: JsonObject | null;
  /** Made from the schema; null where there is none. */
  sample_context: JsonObject | null;
  notifications: { id: number; name: string; active: boolean; channels: string[] }[];
}

export interface Trigger {
  /** Of the occurrence, where it was given out already: to store it again does nothing. */
  id?: string;
  context?: JsonObject;
  options?: TriggerOptions;
  correlationId?: string;
  /** From the header; the option of the same meaning is in `options`. */
  idempotencyKey?: string;
  /** Whoever triggers: the id of the key. */
  keyId?: string;
  /** The caller's place in a trace, as it was given. */
  traceparent?: string;
  /** Told the trace that it belongs to, if there is one. */
  onTrace?: (traceId: string) => void;
}

/** Everything that the slugs name, from memory where it is known. */
export async function getEventPlace({ tenantCache }: Deps, slugs: Required<Slugs>): Promise<Required<Place>> {
  const { org, prj, app, evt } = slugs;
  const place = await tenantCache.findPlace(slugs);
  if (!place) throw new AppError('organization.not_found', `there is no organization ${org}`);
  const { organization, project, application, event } = place;
  if (!project) throw new AppError('project.not_found', `there is no project ${prj} in ${org}`);
  if (!application) throw new AppError('application.not_found', `there is no application ${app} in ${org}/${prj}`);
  if (!event) throw new AppError('event.not_found', `there is no event ${evt} in ${org}/${prj}/${app}`);
  return { organization, project, application, event };
}

/**
 * Returns the identifier of the occurrence once it is stored for good. The hot path: nothing here asks the database but
 * the one batched statement that stores.
 */
export async function triggerEvent(deps: Deps, place: Required<Place>, trigger: Trigger): Promise<string> {
  if (!deps.traces) return accept(deps, place, trigger);
  const { span, traceparent } = deps.traces.begin('accept', trigger.traceparent);
  if (traceparent) trigger.onTrace?.(traceIdOf(traceparent));
  span?.set(eventAttributes(place, place.event.slug));
  try {
    const id = await accept(deps, place, trigger, traceparent);
    span?.set(occurrenceAttributes(id));
    span?.end();
    return id;
  } catch (error) {
    span?.end(error instanceof AppError ? error.code : 'service.internal');
    throw error;
  }
}

async function accept(deps: Deps, place: Required<Place>, trigger: Trigger, traceparent?: string): Promise<string> {
  const { tenantCache, contextSchemas, occurrences, usage } = deps;
  const { organization, project, application, event } = place;
  const { context = {}, options = {} } = trigger;
  if (!event.active) {
    throw new AppError('event.inactive', `the event ${event.slug} is not active: activate it before triggering it`);
  }
  const now = Date.now();
  usage.admitTrigger(organization, options.recipients?.length ?? 0, now);
  const channels = options.channels ? await tenantCache.listUsableChannels(organization.id, project.id) : [];
  const timing = planTrigger(options, channels, now, event.priority);
  // To resolve says nothing new: it takes no context.
  if (!options.resolve) await contextSchemas.check(place, context);

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
  const stored =
    dedup_key === undefined || isResolution
      ? await occurrences.add(occurrence)
      : await deps.keyedOccurrences.add({ ...occurrence, dedup_key, closes_at: await closesAt(deps, place, now) });
  if ('conflict' in stored) {
    throw new AppError(
      'idempotency.conflict',
      'this idempotency key was used for this event with another body: use a new key for a new message',
    );
  }
  return stored.id;
}

/** Retention may have taken it. */
function unlessGone(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== 'occurrence.not_found') throw error;
}

/** An occurrence stays open for as long as its steps may go on: after that, another trigger is news. */
async function closesAt({ plans }: Deps, { organization, event }: Required<Place>, now: number): Promise<Date> {
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
    throw invalid({ 'options/idempotency_key': ['differs from the Idempotency-Key header: give one of them'] });
  }
  const key = fromOptions ?? fromHeader;
  if (!key) return undefined;
  return { key, body_hash: hash('sha256', canonicalJson({ context, options })) };
}

export async function listEvents({ db }: Deps, organizationId: number, applicationId: number, page: PageRequest) {
  return events.listEvents(db, organizationId, applicationId, page);
}

export async function listOrganizationEvents(
  { db }: Deps,
  organizationId: number,
  wanted: events.EventsWanted,
  page: PageRequest,
) {
  return events.listOrganizationEvents(db, organizationId, wanted, page);
}

/** All of them, for the command line. */
export async function listTypedEvents({ db }: Deps, org: string): Promise<events.OrganizationEvent[]> {
  const { organization } = await requirePlace(db, { org });
  const most = Number.MAX_SAFE_INTEGER;
  return events.listOrganizationEvents(db, organization.id, { withSchemas: true }, { after: 0, limit: most });
}

export async function getWaiting({ db }: Deps, organizationId: number, eventId: number): Promise<Waiting> {
  return summarizeWaiting(db, organizationId, eventId);
}

export async function getEvent({ db }: Deps, slugs: Slugs): Promise<Event> {
  const { organization, event } = await requirePlace(db, slugs);
  return read(db, organization.id, event!.id);
}

export async function createEvent(
  deps: Deps,
  { org, prj, app }: Slugs,
  entry: { slug: string; name: string; active?: boolean; category?: string; context_schema?: JsonObject | null },
): Promise<Event> {
  const above = { org, prj, app };
  return change(deps, above, async trx => {
    const { organization } = await requirePlace(trx, above);
    const id = createdBy(await putEntry(deps, trx, above, 'events', entry), 'slug', entry);
    return read(trx, organization.id, id);
  });
}

export interface EventChanges {
  slug?: unknown;
  name?: string;
  active?: boolean | null;
  category?: string | null;
  context_schema?: JsonObject | null;
}

export async function updateEvent(
  deps: Deps,
  { org, prj, app, evt }: Slugs,
  changes: EventChanges,
  check: Check<Event>,
): Promise<Event> {
  return change(deps, { org }, async trx => {
    const { organization, event } = await requirePlace(trx, { org, prj, app, evt });
    const current = await read(trx, organization.id, event!.id);
    check(current);
    refuseChanges(current, changes, { slug: slugAdvice });
    const { slug, name, active, category } = current;
    const { context_schema, ...others } = changes;
    const entry = mergeEntry({ slug, name, active, category }, others) as { slug: string; name: string };
    // Of this one null is a value: none.
    await putEntry(deps, trx, { org, prj, app }, 'events', { ...entry, context_schema } as typeof entry);
    return read(trx, organization.id, event!.id);
  });
}

export async function deleteEvent(deps: Deps, slugs: Slugs, deletion: Deletion, check: Check<Event>): Promise<Deleted> {
  const doomed = {
    noun: 'event' as const,
    read: (trx: Db, { organization, event }: Place) => read(trx, organization.id, event!.id),
    check,
    delete: (trx: Db, { organization, event }: Place) => events.deleteEvent(trx, organization.id, event!.id),
  };
  return deleteEntry(deps, slugs, doomed, deletion);
}

export async function pauseEvent(deps: Deps, organizationId: number, event: { id: number; path: string }) {
  await pause(deps, organizationId, { noun: 'event', setPaused: events.setEventPaused, ...event });
}

export async function resumeEvent(deps: Deps, organizationId: number, event: { id: number; path: string }) {
  return resume(deps, organizationId, { noun: 'event', setPaused: events.setEventPaused, ...event });
}

async function read(db: Db, organizationId: number, id: number): Promise<Event> {
  const event = (await events.findEvent(db, organizationId, id))!;
  const { slug, name, active, category, context_schema, paused_at, created_at } = event;
  const notifications = await listEventNotifications(db, organizationId, id);
  const paused = paused_at !== null;
  const sample_context = context_schema && sampleContext(context_schema);
  const shared = { slug, name, paused, active, category: category ?? generalSlug, context_schema, sample_context };
  return { ...shared, created_at: created_at.toISOString(), notifications };
}
