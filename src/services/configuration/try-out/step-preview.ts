/** Previews the steps of a draft for one recipient if no one acknowledges: when each run starts and which channels it uses. */
import type { Reason } from '../../../core/decision/decide.ts';
import { decideChannels } from '../../../core/decision/personal.ts';
import { listRuns, type Step, stepLimits } from '../../../core/decision/steps.ts';
import { compilePredicate, expressionLimits, findFilterMistake } from '../../../core/expressions/expressions.ts';
import { fold } from '../../../core/text/text.ts';
import { findMemberAsRecipient, type RecipientRecord } from '../../../db/audience/recipients.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { circumstancesOf } from '../../../pipeline/decide.ts';
import type { EventPlan } from '../../../pipeline/event-plan.ts';
import type { PlannedChannel } from '../../../pipeline/plans.ts';
import { isPicked } from '../../../pipeline/recipients.ts';
import { markSuppressed } from '../../../pipeline/suppressions.ts';
import type { Deps } from '../../deps.ts';

/** Steps as typed in the editor; they may be invalid. */
export interface DraftSteps {
  steps: Pick<Step, 'after' | 'channels' | 'recipients' | 'repeat'>[];
  /** Recipients of the notification. */
  recipients: { list?: string; users?: string; schedule?: string; offset?: number };
}

export async function previewSteps(
  deps: Pick<Deps, 'pool' | 'plans'>,
  plan: EventPlan,
  usable: PlannedChannel[],
  user: RecipientRecord,
  { steps, recipients }: DraftSteps,
) {
  let at = currentTime();
  // Others are on call at another time.
  const runs: { number: number; step: number; at: number; selection: Selection }[] = [];
  for (const { number, step, afterMs } of listRuns(steps).slice(0, stepLimits.runs)) {
    at += afterMs;
    const audience = steps[step - 1]!.recipients ?? recipients;
    const same = audience.schedule === undefined ? runs.find(run => run.step === step)?.selection : undefined;
    runs.push({ number, step, at, selection: same ?? (await selectRecipient(deps, plan, user, audience, at)) });
  }
  await markSuppressed(
    deps,
    runs.flatMap(({ selection }) => selection.recipient ?? []),
  );
  return runs.map(({ number, step, at, selection }) => {
    const circumstances = circumstancesOf(plan, { priority: null }, {}, at);
    const { recipient, reason = null } = selection;
    const { channels } = steps[step - 1]!;
    const decided = recipient ? decideChannels(channels, usable, recipient, {}, circumstances) : [];
    const deliveries = decided.map(({ channel, decision }) => ({
      channel: channel.slug,
      reason: decision.reason ?? null,
      due_at: decision.dueAt?.toISOString() ?? null,
    }));
    return { number, step, at: new Date(at).toISOString(), skip_reason: reason, deliveries };
  });
}

/** A list member is reached at the address on the list. */
type Selection = { recipient: RecipientRecord; reason?: undefined } | { recipient?: undefined; reason: Reason };

/** Without a list or expression the trigger names the recipients, who may include this user. A sample user is always one. */
async function selectRecipient(
  { pool, plans }: Pick<Deps, 'pool' | 'plans'>,
  { organization, project }: EventPlan,
  user: RecipientRecord,
  { list, users, schedule, offset = 0 }: DraftSteps['recipients'],
  at: number,
): Promise<Selection> {
  if (user.user_id === 0) return { recipient: user };
  if (schedule !== undefined) {
    const found = await plans.findSchedule(organization.id, project.id, schedule);
    if (found?.usersAt(at, offset).includes(user.username)) return { recipient: user };
    if (list === undefined && !users) return { reason: 'schedule.not_on_call' };
  }
  if (list !== undefined) {
    const member = await findMemberAsRecipient(pool, organization.id, project.id, fold(list), user.user_id);
    if (member) return { recipient: member };
    if (!users) return { reason: 'list.not_member' };
  }
  if (!users || findFilterMistake(users)) return { recipient: user };
  const picks = compilePredicate(users, expressionLimits.stepsForUser);
  return isPicked(picks, user) ? { recipient: user } : { reason: 'recipient.not_selected' };
}
