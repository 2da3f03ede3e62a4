/** An escalation policy as an event with a notification in steps. */
import { type Step, stepLimits } from '../../decision/steps.ts';
import type { AddNote, EventEntry } from '../imported.ts';
import type { PagerDutyPolicy } from './resources.ts';

type Recipients = NonNullable<Step['recipients']>;

export interface PolicyContext {
  channels: string[];
  /** Slugs by id, of both kinds of schedules. */
  schedules: ReadonlyMap<string, string>;
  listOf(userIds: readonly string[]): string | undefined;
  note: AddNote;
}

/** What services that use the policy want. */
export interface Variant {
  isUrgent: boolean;
  /** After which an acknowledgement ends. */
  expiresSeconds: number;
}

interface Planned {
  /** After the previous one. */
  minutes: number;
  recipients: Recipients;
  isRoundRobin: boolean;
}

export function toEvent(
  policy: PagerDutyPolicy,
  named: { slug: string; name: string },
  { isUrgent, expiresSeconds }: Variant,
  { channels, schedules, listOf, note }: PolicyContext,
): EventEntry {
  const subject = `escalation policy ${policy.name}`;
  const planned = repeat(planSteps(policy, subject, { schedules, listOf, note }), policy, subject, note);
  const [first] = planned;
  if (!first) {
    note(subject, 'none of its rules notifies anyone: its event has no notification');
    return named;
  }
  const minutes = planned.reduce((sum, step) => sum + step.minutes, 0);
  const days = Math.ceil(minutes / 1_440);
  const expires = Math.min(expiresSeconds, stepLimits.expiresDays * 86_400);
  return {
    ...named,
    notifications: [
      {
        name: 'page',
        recipients: first.recipients,
        steps: planned.map(({ minutes: after, recipients, isRoundRobin }, i) => ({
          ...(after > 0 && { after: `${after}m` }),
          ...(i > 0 && { unless: 'acknowledged' }),
          channels,
          ...(i > 0 && { recipients }),
          ...(isRoundRobin && { round_robin: true }),
        })),
        ...(days > 1 && { give_up_after: `${days}d` }),
        ...(expires > 0 && { acknowledgement_expires: `${Math.ceil(expires / 60)}m` }),
        notify_resolved: true,
        ...(isUrgent && { priority: 'urgent' as const }),
        message: { subject: '{{ title }}', body: '**{{ title }}**\n\n[Acknowledge]({{ acknowledge_url }})\n' },
      },
    ],
  };
}

interface Plan {
  steps: Planned[];
  /** From the last step until the policy begins again. */
  rest: number;
}

function planSteps(
  { escalation_rules: rules }: PagerDutyPolicy,
  subject: string,
  { schedules, listOf, note }: Omit<PolicyContext, 'channels'>,
): Plan {
  const steps: Planned[] = [];
  let waited = 0;
  for (const [i, { targets, strategy, escalation_delay_in_minutes: delay }] of rules.entries()) {
    const own = `${subject}, rule ${i + 1}`;
    const found: Recipients[] = [];
    const isUser = (type: string | null | undefined) => type === 'user_reference' || type === 'user';
    const users = targets.filter(({ type }) => isUser(type)).map(({ id }) => id);
    const list = listOf(users);
    if (list) found.push({ list });
    else if (users.length > 0) note(own, 'none of its users is carried over');
    for (const { id, type } of targets) {
      if (isUser(type)) continue;
      const schedule = schedules.get(id);
      if (schedule) found.push({ schedule });
      else if (/^schedule/.test(type ?? '')) note(own, `its schedule ${id} is not carried over`);
      else note(own, `its target is of the type ${type ?? '(none)'}, which is not known`);
    }
    const isRoundRobin = strategy === 'round_robin';
    if (isRoundRobin && found.length > 1)
      note(own, 'its round robin is among schedules: all of them are notified, use a list of their users');
    if (strategy && !isRoundRobin && strategy !== 'assign_to_everyone')
      note(own, `it is assigned by ${strategy}, which is not known: all of its targets are notified`);
    for (const [n, recipients] of found.entries())
      steps.push({ minutes: n === 0 ? waited : 0, recipients, isRoundRobin: isRoundRobin && found.length === 1 });
    if (found.length > 0) waited = 0;
    waited += Math.round(delay);
  }
  return { steps, rest: waited };
}

/** Writes the repetitions of a policy as further steps. */
function repeat({ steps, rest }: Plan, { num_loops }: PagerDutyPolicy, subject: string, note: AddNote): Planned[] {
  const loops = Math.max(0, Math.floor(num_loops ?? 0));
  // Only so many can be used.
  const all = Array.from({ length: Math.min(loops, stepLimits.steps) + 1 }, (_, loop) =>
    steps.map((step, i) => (loop > 0 && i === 0 ? { ...step, minutes: step.minutes + rest } : step)),
  ).flat();
  const total = steps.length * (loops + 1);
  let minutes = 0;
  const end = all.findIndex(step => {
    minutes += step.minutes;
    return minutes > stepLimits.giveUpDays * 1_440;
  });
  const kept = all.slice(0, Math.min(stepLimits.steps, end < 0 ? all.length : end));
  if (kept.length < total)
    note(subject, `it has ${total} steps with its repetitions: only the first ${kept.length} are carried over`);
  return kept;
}
