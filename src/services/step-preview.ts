/** What the steps of a draft would mean for one person if nobody answered: when each run comes, and by which channels it reaches them. */
import { decide, type Reason, selectChannels } from '../core/decide.ts';
import { compilePredicate, expressionLimits, findFilterMistake } from '../core/expressions.ts';
import { listRuns, type Step, stepLimits } from '../core/steps.ts';
import { fold } from '../core/text.ts';
import { findMemberAsRecipient, type Person } from '../db/recipients.ts';
import { circumstancesOf } from './deciding.ts';
import type { Deps } from './deps.ts';
import type { EventPlan, PlannedChannel } from './plans.ts';
import { isPicked } from './recipients.ts';

/** As it is typed: nothing has to be right yet. */
export interface DraftSteps {
  steps: Pick<Step, 'after' | 'channels' | 'recipients' | 'repeat'>[];
  /** The notification's own. */
  recipients: { list?: string; users?: string };
}

export interface PreviewedRun {
  number: number;
  step: number;
  /** At the earliest, where it is triggered now. */
  at: string;
  /** Why the person is none of its recipients; null: they are one, or the trigger names them. */
  left_out: Reason | null;
  deliveries: { channel: string; reason: Reason | null; due_at: string | null }[];
}

export async function previewSteps(
  deps: Pick<Deps, 'pool'>,
  plan: EventPlan,
  usable: PlannedChannel[],
  person: Person,
  { steps, recipients }: DraftSteps,
): Promise<PreviewedRun[]> {
  const selected: Selected[] = [];
  for (const step of steps) selected.push(await select(deps, plan, person, step.recipients ?? recipients));
  let at = Date.now();
  return listRuns(steps)
    .slice(0, stepLimits.runs)
    .map(({ number, step, afterMs }) => {
      at += afterMs;
      const circumstances = circumstancesOf(plan, { priority: null }, {}, at);
      const { recipient, reason = null } = selected[step - 1]!;
      const channels = recipient ? selectChannels(steps[step - 1]!.channels, usable) : [];
      const deliveries = channels.flatMap(channel =>
        decide(channel, recipient!, {}, circumstances).map(decision => ({
          channel: channel.slug,
          reason: decision.reason ?? null,
          due_at: decision.dueAt?.toISOString() ?? null,
        })),
      );
      return { number, step, at: new Date(at).toISOString(), left_out: reason, deliveries };
    });
}

/** A member has the address that is on the list. */
type Selected = { recipient: Person; reason?: undefined } | { recipient?: undefined; reason: Reason };

/** Where the draft chooses nobody, the trigger says who is told: the person may be. One who is made up is always told. */
async function select(
  { pool }: Pick<Deps, 'pool'>,
  { organization, project }: EventPlan,
  person: Person,
  { list, users }: DraftSteps['recipients'],
): Promise<Selected> {
  if (person.user_id === 0) return { recipient: person };
  if (list !== undefined) {
    const member = await findMemberAsRecipient(pool, organization.id, project.id, fold(list), person.user_id);
    if (member) return { recipient: member };
    if (!users) return { reason: 'list.not_member' };
  }
  if (!users || findFilterMistake(users)) return { recipient: person };
  const picks = compilePredicate(users, expressionLimits.stepsForUser);
  return isPicked(picks, person) ? { recipient: person } : { reason: 'recipient.not_selected' };
}
