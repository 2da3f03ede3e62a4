/** Occurrences that wait for an approval: who would get what, and the decision. */

import { decide, selectChannels } from '../../core/decision/decide.ts';
import { explainReason } from '../../core/decision/explain.ts';
import { describeFigures } from '../../core/decision/guards/canary.ts';
import { openHoldStates } from '../../core/decision/guards/guard.ts';
import { AppError } from '../../core/errors.ts';
import { type Actor, actorName } from '../../core/identity/actor.ts';
import { fold } from '../../core/text/text.ts';
import type { TriggerOptions } from '../../core/trigger.ts';
import {
  findMemberAsRecipient,
  findRecipientsAcrossTenants,
  type RecipientRecord,
} from '../../db/audience/recipients.ts';
import { findHold, type HoldRow, listHolds as listRows } from '../../db/history/holds.ts';
import { findOccurrence } from '../../db/history/occurrences.ts';
import { approveHold, endHeld, type HoldSample } from '../../db/ledger/expand/holds.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { circumstancesOf, isSent } from '../../pipeline/decide.ts';
import { unknownRecipient } from '../../pipeline/recipients.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';
import { renderDecision, type SimulatedDelivery } from '../configuration/try-out/simulation.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { countEnded } from './occurrences.ts';

/** More than anyone decides about. */
export const maxHolds = 100;

export type Hold = Awaited<ReturnType<typeof describe>>;

export async function listHolds(deps: Deps, organizationId: number, isOpen: boolean): Promise<Hold[]> {
  const rows = await listRows(deps.db, organizationId, { isOpen, max: maxHolds });
  return Promise.all(rows.map(row => describe(deps, organizationId, row)));
}

/** Returns the hold of an occurrence. The samples are rendered, unless the caller may not see users. */
export async function getHold(deps: Deps, organizationId: number, occurrence: string, seesUsers: boolean) {
  const row = await requireHold(deps, organizationId, occurrence);
  const samples = seesUsers ? await renderSamples(deps, organizationId, row) : [];
  return { ...(await describe(deps, organizationId, row)), samples };
}

async function requireHold({ db }: Deps, organizationId: number, occurrence: string): Promise<HoldRow> {
  const row = await findHold(db, organizationId, occurrence);
  if (!row) throw new AppError('hold.not_found', `the occurrence ${occurrence} was never held for an approval`);
  return row;
}

async function describe({ plans }: Deps, organizationId: number, row: HoldRow) {
  const { samples: _, key_id: __, event_id: ___, is_counted, counts, kind, ...hold } = row;
  const { messages = {}, left_out = {} } = counts;
  const limits = new Map((await plans.listChannels(organizationId)).map(one => [one.slug, one.ratePerSecond]));
  const channels = Object.entries(messages).map(([channel, count]) => {
    const rate = limits.get(channel) ?? null;
    return { channel, messages: count, per_second: rate, seconds: rate === null ? null : Math.ceil(count / rate) };
  });
  const leftOut = Object.entries(left_out).map(([reason, count]) => {
    return { reason, explanation: explainReason(reason), messages: count };
  });
  return {
    ...hold,
    kind,
    reason: `guard.${kind}`,
    counted: is_counted,
    recipients: counts.recipients ?? 0,
    channels: channels.sort((a, b) => b.messages - a.messages),
    left_out: leftOut.sort((a, b) => b.messages - a.messages),
    explanation: describeFigures(row.figures ?? []),
  };
}

/** Renders the messages of the samples as they would be sent now. */
async function renderSamples(deps: Deps, organizationId: number, row: HoldRow): Promise<SimulatedDelivery[]> {
  const occurrence = await findOccurrence(deps.db, organizationId, row.occurrence);
  const plan = await deps.plans.findEvent(organizationId, row.event_id);
  if (!occurrence || !plan) return [];
  const options = { ...(occurrence.options as TriggerOptions), dry_run: false };
  const usable = await deps.plans.listUsable(organizationId, plan.project.id);
  const shown = { id: row.occurrence, context: occurrence.context, correlation_id: occurrence.correlation_id };
  const rendered: SimulatedDelivery[] = [];
  for (const sample of row.samples) {
    const notification = plan.notifications.find(({ id }) => id === sample.notification);
    const list = notification?.recipients.list;
    const recipient = notification && (await findSample(deps, organizationId, plan.project.id, sample, list));
    // Deleted since.
    if (!notification || !recipient) continue;
    await markSuppressed(deps, [recipient]);
    // The others get the better one.
    const { winner } = row.figures?.find(one => one.notification === notification.name) ?? {};
    const variant = winner && { variant: winner };
    const circumstances = circumstancesOf(plan, notification, options, currentTime());
    for (const channel of selectChannels(notification.channels, usable)) {
      for (const { address, reason, detail, dueAt } of decide(channel, recipient, options, circumstances)) {
        const decision = {
          notification,
          channel,
          recipient,
          address,
          reason,
          detail,
          dueAt,
          isUrgent: false,
          ...variant,
        };
        if (!isSent(decision)) continue;
        rendered.push(await renderDecision(deps, plan, { ...shown, created_at: occurrence.created_at }, decision));
      }
    }
  }
  return rendered;
}

async function findSample(
  { pool }: Deps,
  organizationId: number,
  projectId: number,
  { user_id, email }: HoldSample,
  list: string | undefined,
): Promise<RecipientRecord | undefined> {
  if (user_id === 0) return unknownRecipient({ organizationId, username: fold(email ?? ''), email: email ?? '' });
  const member =
    list === undefined ? undefined : await findMemberAsRecipient(pool, organizationId, projectId, fold(list), user_id);
  return member ?? (await findRecipientsAcrossTenants(pool, [{ organizationId, userId: user_id }]))[0];
}

/** Approves: the messages are sent, at most so many per second. */
export async function approve(
  deps: Deps,
  organizationId: number,
  occurrence: string,
  { perSecond }: { perSecond?: number | undefined } = {},
): Promise<Hold> {
  const { kind, recipients } = await requireOpen(deps, organizationId, occurrence);
  await deps.db.transaction().execute(async trx => {
    const key = { id: occurrence, kind };
    if (!(await approveHold(trx, organizationId, key, actorName(deps.actor), perSecond))) throw decided();
    const after = { kind, recipients, ...(perSecond !== undefined && { per_second: perSecond }) };
    await record(deps, trx, organizationId, { action: 'approve', noun: 'occurrence', path: occurrence, after });
  });
  return describe(deps, organizationId, await requireHold(deps, organizationId, occurrence));
}

/** Rejects: the occurrence ends, and nothing is sent. */
export async function reject(
  deps: Deps,
  organizationId: number,
  occurrence: string,
  text: string | undefined,
): Promise<Hold> {
  const { kind, recipients } = await requireOpen(deps, organizationId, occurrence, { isRejected: true });
  const note = text?.trim() || undefined;
  const outcome = await deps.db.transaction().execute(async trx => {
    const key = { id: occurrence, kind };
    const ended = await endHeld(trx, organizationId, key, { state: 'rejected', by: actorName(deps.actor), note });
    if (ended === undefined) throw decided();
    const after = { kind, recipients, ...(note && { reason: note }) };
    await record(deps, trx, organizationId, { action: 'reject', noun: 'occurrence', path: occurrence, after });
    return ended;
  });
  if (outcome) countEnded(deps, [outcome]);
  return describe(deps, organizationId, await requireHold(deps, organizationId, occurrence));
}

/** Throws if it was decided already, or if the caller triggered it and must not approve it. */
async function requireOpen(
  deps: Deps,
  organizationId: number,
  occurrence: string,
  { isRejected = false } = {},
): Promise<{ kind: string; recipients: number | null }> {
  const row = await requireHold(deps, organizationId, occurrence);
  if (!(openHoldStates as readonly string[]).includes(row.state)) throw decided();
  if (!isRejected && isOwn(deps.actor, row.key_id)) {
    const plan = await deps.plans.findEvent(organizationId, row.event_id);
    if (plan?.organization.guard?.four_eyes) {
      throw new AppError('hold.own', 'you triggered this occurrence yourself: someone else has to approve it');
    }
  }
  return { kind: row.kind, recipients: row.is_counted ? (row.counts.recipients ?? 0) : null };
}

function isOwn({ kind, id }: Actor, triggeredBy: string | null): boolean {
  return id !== null && triggeredBy === (kind === 'account' ? `account:${id}` : id);
}

function decided(): AppError {
  return new AppError(
    'hold.decided',
    'there is nothing to decide: it was approved, rejected, cancelled or has expired',
  );
}
