/** Adds a month of generated history to the demo organization. Its occurrences have the correlation id `demo-data`. */
import { createHash } from 'node:crypto';
import { toUuid } from '../../../core/ids.ts';
import { findRecipientByName, type RecipientRecord } from '../../../db/audience/recipients.ts';
import { createPartitions } from '../../../db/connection/partitions.ts';
import * as generated from '../../../db/operations/generated-rows.ts';
import type { EventPlan, PlannedNotification } from '../../../pipeline/event-plan.ts';
import { renderDelivery } from '../../../pipeline/messages.ts';
import type { PlannedChannel } from '../../../pipeline/plans.ts';
import { RenderSnapshots, renderContextOf } from '../../../pipeline/rendering/render-snapshots.ts';
import { resolveEventPath } from '../../configuration/events.ts';
import type { Deps } from '../../deps.ts';
import { configureDemoDay } from './day.ts';
import {
  demoSource,
  type GeneratedDelivery,
  type GeneratedHistory,
  type GeneratedOccurrence,
  generateHistory,
} from './occurrences.ts';

/** The correlation id of generated occurrences: it is shown with each of them, and lists can be filtered by it. */
export const demoMark = 'demo-data';

const hourMs = 3_600_000;
const iso = (time: number) => new Date(time).toISOString();

export interface DemoCounts {
  occurrences: number;
  deliveries: number;
}

interface PlannedEvent {
  plan: EventPlan;
  notification: PlannedNotification;
}

/** The rows of configuration that generated rows refer to. */
interface Target {
  organizationId: number;
  events: ReadonlyMap<string, PlannedEvent>;
  channels: ReadonlyMap<string, PlannedChannel>;
  users: ReadonlyMap<string, RecipientRecord>;
  /** Ids of render snapshots by event and channel. */
  snapshots: ReadonlyMap<string, string>;
}

/** Returns undefined if the organization has a generated history already. */
export async function createDemoHistory(deps: Deps, now: number): Promise<DemoCounts | undefined> {
  const { db } = deps;
  await configureDemoDay(deps);
  const { organization } = await resolveEventPath(deps, { org: 'demo', prj: 'shop', app: 'web', evt: 'order-paid' });
  if (await generated.hasCorrelated(db, organization.id, demoMark)) return undefined;
  const history = generateHistory(now);
  const target = await readTarget(deps, organization.id, history);
  const inbox = await renderInbox(deps, target, history, now);
  await createPartitions(db, now, history.from);
  const all = history.occurrences.flatMap(one => one.deliveries);
  const ids = await generated.reserveDeliveryIdsAcrossTenants(db, all.length);
  const idOf = new Map(all.map((delivery, i) => [delivery, ids[i]!]));
  await db.transaction().execute(async trx => {
    const insert = (table: generated.GeneratedTable, rows: readonly object[]) =>
      generated.insertGenerated(trx, organization.id, table, rows);
    await insert(
      'occurrences',
      history.occurrences.map(one => occurrenceRow(one, target)),
    );
    await insert(
      'deliveries',
      history.occurrences.flatMap(one => one.deliveries.map(each => deliveryRow(one, each, idOf.get(each)!, target))),
    );
    await insert(
      'steps',
      history.occurrences.flatMap(one => stepRows(one, target)),
    );
    await insert('responses', history.occurrences.flatMap(responseRows));
    await insert(
      'feedback',
      history.occurrences.flatMap(one => feedbackRows(one, idOf)),
    );
    await insert('suppressions', history.suppressions.map(suppressionRow));
    const choices = history.optOuts.map(one => preferenceRow(one, target));
    await insert('preferences', choices);
    await insert(
      'preference_history',
      choices.map(one => ({ ...one, changed_by: demoSource })),
    );
    const { inboxes, messages } = inboxRows(inbox, idOf);
    await generated.reserveInboxSequences(trx, organization.id, inboxes);
    await insert('inbox', messages);
    await generated.backdate(trx, organization.id, new Date(history.from - hourMs));
    await generated.countCorrelated(trx, organization.id, demoMark);
  });
  return { occurrences: history.occurrences.length, deliveries: all.length };
}

async function readTarget(deps: Deps, organizationId: number, history: GeneratedHistory): Promise<Target> {
  const { plans, pool, db } = deps;
  const channels = new Map((await plans.listChannels(organizationId)).map(one => [one.slug, one]));
  const events = new Map<string, PlannedEvent>();
  const users = new Map<string, RecipientRecord>();
  const snapshots = new Map<string, string>();
  const stored = new RenderSnapshots(db);
  for (const { event, deliveries } of history.occurrences) {
    if (!events.has(event)) {
      const [app, evt] = event.split('/') as [string, string];
      const path = await resolveEventPath(deps, { org: 'demo', prj: 'shop', app, evt });
      const plan = (await plans.findEvent(organizationId, path.event.id))!;
      events.set(event, { plan, notification: plan.notifications[0]! });
    }
    const { plan, notification } = events.get(event)!;
    for (const { user, channel: slug } of deliveries) {
      if (!users.has(user)) users.set(user, (await findRecipientByName(pool, organizationId, user))!);
      const name = `${event} ${slug}`;
      if (snapshots.has(name)) continue;
      const channel = channels.get(slug)!;
      const message = (await plans.findMessage(organizationId, notification.id, notification.version))!;
      const context = renderContextOf(plan, channel, notification.id);
      snapshots.set(name, await stored.store(message, plan, channel, context));
    }
  }
  return { organizationId, events, channels, users, snapshots };
}

function occurrenceRow(one: GeneratedOccurrence, { events }: Target) {
  const { plan } = events.get(one.event)!;
  const count = (status: string) => one.deliveries.filter(delivery => delivery.status === status).length;
  return {
    id: one.id,
    project_id: plan.project.id,
    application_id: plan.application.id,
    event_id: plan.id,
    status: 'completed',
    priority: one.priority,
    context: one.context,
    options: one.options,
    correlation_id: demoMark,
    due_at: iso(one.created),
    created_at: iso(one.created),
    completed_at: iso(one.completed),
    deliveries: one.deliveries.length,
    sent: count('sent'),
    failed: count('failed'),
    suppressed: count('suppressed'),
    triggers: one.triggers,
    dedup_key: one.dedupKey,
    acknowledged_at: one.acknowledged && iso(one.acknowledged.at),
    acknowledged_by: one.acknowledged?.by ?? null,
    resolved_at: one.resolved && iso(one.resolved.at),
    resolved_by: one.resolved?.by ?? null,
  };
}

function deliveryRow(occurrence: GeneratedOccurrence, one: GeneratedDelivery, id: number, target: Target) {
  const { notification } = target.events.get(occurrence.event)!;
  const user = target.users.get(one.user)!;
  const wasTried = one.attempts > 0;
  return {
    occurrence_id: occurrence.id,
    id,
    notification_id: notification.id,
    version: notification.version,
    channel_id: target.channels.get(one.channel)!.id,
    user_id: user.user_id,
    address: one.user,
    status: one.status,
    reason: one.reason,
    detail: one.detail,
    priority: occurrence.priority,
    attempts: one.attempts,
    provider_attempts: one.attempts,
    provider: one.status === 'suppressed' ? null : one.channel === 'app' ? 'inbox' : 'sandbox',
    due_at: iso(one.due),
    created_at: iso(one.created),
    sent_at: one.sent === null ? null : iso(one.sent),
    snapshot_id: wasTried ? target.snapshots.get(`${occurrence.event} ${one.channel}`)! : null,
    user_version: user.version,
    attempt_ms: one.attemptMs,
    failed_attempts: one.failedAttempts,
    digest_id: one.digest,
    step: one.step,
    released_at: one.released === null ? null : iso(one.released),
  };
}

function stepRows({ id, event, created, priority, steps }: GeneratedOccurrence, { events }: Target) {
  return steps.map(({ number, step, status, reason, due, ended, notified }) => ({
    occurrence_id: id,
    notification_id: events.get(event)!.notification.id,
    number,
    step,
    status,
    reason,
    priority,
    due_at: iso(due),
    began_at: iso(created),
    messages: notified,
    ended_at: iso(ended),
  }));
}

function responseRows({ id, acknowledged, resolved }: GeneratedOccurrence) {
  const given = [
    acknowledged && { ...acknowledged, kind: 'acknowledged' },
    resolved && { ...resolved, kind: 'resolved' },
  ];
  return given
    .filter(one => one !== null)
    .map(({ kind, at, by }, i) => ({ occurrence_id: id, number: i + 1, kind, at: iso(at), by }));
}

function feedbackRows({ id, deliveries }: GeneratedOccurrence, idOf: ReadonlyMap<GeneratedDelivery, number>) {
  return deliveries.flatMap(one => {
    if (!one.feedback) return [];
    const { at, ...event } = one.feedback;
    const digits = createHash('sha256').update(`${id} ${one.user}`).digest('hex');
    const key = toUuid(digits.slice(0, 32));
    const eventId = toUuid(
      `${Math.floor(at).toString(16).padStart(12, '0')}7${digits.slice(0, 3)}8${digits.slice(3, 18)}`,
    );
    const address = one.user;
    const names = { occurrence_id: id, delivery_id: idOf.get(one)!, key, id: eventId, source: demoSource };
    return [{ ...names, ...event, address, recipient: address, at: iso(at) }];
  });
}

function suppressionRow({ target, reason, detail, since }: GeneratedHistory['suppressions'][number]) {
  return { channel_type: 'email', target, reason, source: demoSource, detail, since: iso(since) };
}

function preferenceRow({ user, category, source, at }: GeneratedHistory['optOuts'][number], { users }: Target) {
  const { user_id } = users.get(user)!;
  return { user_id, scope: `category:${category}`, channel_type: 'email', enabled: false, source, changed_at: iso(at) };
}

interface InboxMessage {
  delivery: GeneratedDelivery;
  row: Record<string, unknown> & { user_id: number; created_at: string };
}

/** Renders the messages of inboxes, which are stored as they were shown. Those of the last two days may be unread. */
async function renderInbox(
  { plans }: Deps,
  target: Target,
  history: GeneratedHistory,
  now: number,
): Promise<InboxMessage[]> {
  const messages: InboxMessage[] = [];
  const channel = target.channels.get('app')!;
  for (const occurrence of history.occurrences) {
    const { plan, notification } = target.events.get(occurrence.event)!;
    for (const delivery of occurrence.deliveries) {
      if (delivery.channel !== 'app' || delivery.sent === null) continue;
      const user = target.users.get(delivery.user)!;
      const { content } = await renderDelivery(plans, {
        delivery: {
          address: delivery.user,
          notification_id: notification.id,
          version: notification.version,
          step: delivery.step,
        },
        occurrence: {
          id: occurrence.id,
          context: occurrence.context,
          correlation_id: demoMark,
          created_at: new Date(occurrence.created),
        },
        recipient: user,
        channel,
        plan,
      });
      const seen = delivery.sent + (5 + (messages.length % 90)) * 60_000;
      const readAt = seen < now && (messages.length % 7 !== 0 || now - seen > 48 * hourMs) ? iso(seen) : null;
      messages.push({
        delivery,
        row: {
          user_id: user.user_id,
          occurrence_id: occurrence.id,
          title: content.title,
          body: content.text,
          created_at: iso(delivery.sent),
          read_at: readAt,
          seen_at: readAt,
          category: plan.topic.category.slug,
          avatar: content.avatar ?? null,
          actions: content.actions ?? null,
        },
      });
    }
  }
  return messages;
}

/** Numbers the messages of each inbox from 1. */
function inboxRows(messages: readonly InboxMessage[], idOf: ReadonlyMap<GeneratedDelivery, number>) {
  const inboxes = new Map<number, number>();
  const numbered = messages.map(({ delivery, row }) => {
    const sequence = (inboxes.get(row.user_id) ?? 0) + 1;
    inboxes.set(row.user_id, sequence);
    return { ...row, id: idOf.get(delivery)!, sequence, created_sequence: sequence };
  });
  return { inboxes, messages: numbered };
}
