/** An escalation chain as an event with a notification in steps. */

import { type Step, stepLimits } from '../../decision/steps.ts';
import { lookUp } from '../../lookup.ts';
import type { AddNote, EventEntry } from '../imported.ts';
import type { OnCallExport, OnCallPolicy } from './resources.ts';

/** OnCall repeats a chain so many times. */
const repetitions = 5;

type Recipients = NonNullable<Step['recipients']>;

export interface ChainContext {
  channels: string[];
  /** Slugs by id. */
  schedules: ReadonlyMap<string, string>;
  /** Returns the name of a distribution list with these users. */
  listOf(userIds: readonly string[]): string | undefined;
  teamList(teamId: string): string | undefined;
  note: AddNote;
}

interface Planned {
  afterSeconds: number;
  recipients: Recipients;
  roundRobin: boolean;
}

export function toEvent(
  chain: OnCallExport['escalation_chains'][number],
  policies: readonly OnCallPolicy[],
  slug: string,
  context: ChainContext,
): EventEntry {
  const subject = `escalation chain ${chain.name}`;
  const { planned, isImportant } = planSteps(policies, subject, context);
  const steps = planned.slice(0, stepLimits.steps);
  if (planned.length > steps.length)
    context.note(
      subject,
      `it has ${planned.length} steps with its repetitions: only the first ${steps.length} are carried over`,
    );
  const event = { slug, name: chain.name };
  const [first] = steps;
  if (!first) {
    context.note(subject, 'none of its steps notifies anyone: its event has no notification');
    return event;
  }
  const total = steps.reduce((sum, { afterSeconds }) => sum + afterSeconds, 0);
  const days = Math.ceil(total / 86_400);
  if (days > stepLimits.giveUpDays) context.note(subject, `it takes longer than ${stepLimits.giveUpDays} days`);
  return {
    ...event,
    notifications: [
      {
        name: 'page',
        recipients: first.recipients,
        steps: steps.map(({ afterSeconds, recipients, roundRobin }, i) => ({
          ...(afterSeconds > 0 && { after: durationOf(afterSeconds) }),
          ...(i > 0 && { unless: 'acknowledged' }),
          channels: context.channels,
          ...(i > 0 && { recipients }),
          ...(roundRobin && { round_robin: true }),
        })),
        ...(days > 1 && { give_up_after: `${Math.min(days, stepLimits.giveUpDays)}d` }),
        notify_resolved: true,
        ...(isImportant && { priority: 'urgent' as const }),
        message: { subject: '{{ title }}', body: '**{{ title }}**\n\n[Acknowledge]({{ acknowledge_url }})\n' },
      },
    ],
  };
}

function planSteps(policies: readonly OnCallPolicy[], subject: string, context: ChainContext) {
  const ordered = policies.toSorted((a, b) => a.position - b.position);
  const planned: Planned[] = [];
  let waited = 0;
  for (const policy of ordered) {
    if (policy.type === 'wait') {
      waited += policy.duration ?? 0;
      continue;
    }
    if (policy.type === 'repeat_escalation') {
      const once = [...planned];
      for (let n = 0; n < repetitions; n++) {
        for (const [i, step] of once.entries())
          planned.push(i === 0 ? { ...step, afterSeconds: step.afterSeconds + waited } : step);
      }
      break;
    }
    const recipients = recipientsOf(policy, context);
    if (typeof recipients === 'string') {
      context.note(`${subject}, step ${policy.position + 1}`, recipients);
      continue;
    }
    planned.push({
      afterSeconds: waited,
      recipients,
      roundRobin: policy.type === 'notify_person_next_each_time',
    });
    waited = 0;
  }
  return { planned, isImportant: ordered.some(({ important }) => important) };
}

const refusals: Record<string, string> = {
  notify_whole_channel: 'a Slack channel is not notified as a whole: add a step with a channel of type slack',
  notify_user_group: 'the members of a Slack user group are not known: use a distribution list',
  notify_if_time_from_to: 'steps do not wait for a time of day: the steps after it run at any time',
  notify_if_num_alerts_in_window: 'steps do not count alerts: the steps after it run in any case',
  trigger_webhook:
    'webhooks of chains are not carried over: use a channel of type webhook, or a webhook for occurrence events',
  declare_incident: 'incidents are not declared elsewhere: use a webhook for occurrence events',
  resolve: 'steps do not resolve occurrences',
};

/** Returns the reason if there are none. */
function recipientsOf(policy: OnCallPolicy, { schedules, listOf, teamList }: ChainContext): Recipients | string {
  const toList = (name: string | undefined) => (name ? { list: name } : 'none of its users exists or has an email');
  switch (policy.type) {
    case 'notify_persons':
      return toList(listOf(policy.persons_to_notify ?? []));
    case 'notify_person_next_each_time':
      return toList(listOf(policy.persons_to_notify_next_each_time ?? []));
    case 'notify_team_members':
      return toList(teamList(policy.team_to_notify ?? ''));
    case 'notify_on_call_from_schedule': {
      const schedule = schedules.get(policy.notify_on_call_from_schedule ?? '');
      return schedule ? { schedule } : 'its schedule is not carried over';
    }
    default:
      return (
        lookUp(refusals, policy.type ?? '') ?? `it is of the type ${policy.type ?? '(none)'}, which has no counterpart`
      );
  }
}

function durationOf(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
