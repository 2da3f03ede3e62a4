/** Escalations as events with a notification in steps. Delays there count from the creation of the alert, here from the step before. */
import { type Step, stepLimits } from '../../decision/steps.ts';
import type { AddNote, EventEntry } from '../imported.ts';
import { nameOf } from '../names.ts';
import type { People } from './people.ts';
import {
  durationOf,
  type OpsgenieEscalation,
  type OpsgenieReference,
  type OpsgenieTeam,
  readMinutes,
} from './resources.ts';

type Recipients = NonNullable<Step['recipients']>;
type Rule = NonNullable<OpsgenieEscalation['rules']>[number];

export interface EscalationContext {
  channels: string[];
  people: People;
  scheduleOf(reference: OpsgenieReference): string | undefined;
  note: AddNote;
}

export interface PlannedStep {
  /** Since the alert. */
  minutes: number;
  recipients: Recipients;
  roundRobin?: boolean | undefined;
}

/** Returns whom an escalation notifies before all others, except schedules. */
export function findFirstRecipients({ rules = [] }: OpsgenieEscalation): OpsgenieReference[] {
  const delays = rules.map(({ delay }) => readMinutes(delay) ?? 0);
  const first = Math.min(...delays);
  return rules.flatMap(({ recipient }, i) =>
    delays[i] === first && recipient && recipient.type !== 'schedule' ? [recipient] : [],
  );
}

/** Returns the steps of an escalation with its repetitions, in the order of time. */
export function planSteps(escalation: OpsgenieEscalation, subject: string, context: EscalationContext): PlannedStep[] {
  const { note } = context;
  const steps = (escalation.rules ?? []).flatMap((rule, i): PlannedStep[] => {
    const at = `${subject}, rule ${i + 1}`;
    const minutes = readMinutes(rule.delay);
    if (minutes === undefined) {
      note(at, `its unit of time, ${rule.delay?.timeUnit}, is not known`);
      return [];
    }
    if (rule.condition === 'if-not-closed')
      note(at, 'it also notifies after an acknowledgement, which ends all steps here: see `acknowledgement_expires`');
    else if ((rule.condition ?? 'if-not-acked') !== 'if-not-acked')
      note(at, `its condition, ${rule.condition}, is not known: it notifies unless someone has acknowledged`);
    const found = recipientsOf(rule, at, context);
    return found ? [{ minutes, ...found }] : [];
  });
  steps.sort((a, b) => a.minutes - b.minutes);
  const { waitInterval = 0, count = 0, resetRecipientStates, closeAlertAfterAll } = escalation.repeat ?? {};
  if (closeAlertAfterAll) note(subject, 'it closes the alert after all repetitions: steps do not resolve occurrences');
  if (count === 0 || steps.length === 0) return steps;
  if (resetRecipientStates)
    note(subject, 'its repetitions forget acknowledgements: see `acknowledgement_expires` of the notification');
  const round = steps.at(-1)!.minutes + waitInterval;
  const times = Math.min(count, stepLimits.steps);
  return Array.from({ length: times + 1 }, (_, n) =>
    steps.map(step => ({ ...step, minutes: step.minutes + n * round })),
  ).flat();
}

type Found = Omit<PlannedStep, 'minutes'>;

function recipientsOf({ recipient = {}, notifyType = 'default' }: Rule, at: string, context: EscalationContext) {
  const { people, scheduleOf, note } = context;
  const named = recipient.username ?? recipient.name ?? recipient.id ?? '(none)';
  const refuse = (reason: string): undefined => note(at, reason) as undefined;
  const toList = (emails: string[]): Found | undefined => {
    const list = people.listOf(emails);
    return list ? { recipients: { list } } : refuse(`none of the users of ${named} can be carried over`);
  };
  switch (recipient.type) {
    case 'user': {
      const email = people.emailOf(recipient);
      return email ? toList([email]) : refuse(`its user, ${named}, does not exist`);
    }
    case 'schedule': {
      const schedule = scheduleOf(recipient);
      if (!schedule) return refuse(`its schedule, ${named}, is not carried over`);
      if (notifyType === 'next') return { recipients: { schedule, offset: 1 } };
      if (notifyType !== 'default')
        note(at, `it notifies ${notifyType} of a schedule, which steps cannot: it notifies the users on call`);
      return { recipients: { schedule } };
    }
    case 'team': {
      const team = people.teamOf(recipient);
      return team
        ? teamRecipients(team, notifyType, at, context, toList)
        : refuse(`its team, ${named}, does not exist`);
    }
    default:
      return refuse(`its recipient ${named} is of the type ${recipient.type ?? '(none)'}, which has no counterpart`);
  }
}

function teamRecipients(
  team: OpsgenieTeam,
  notifyType: string,
  at: string,
  { people, scheduleOf, note }: EscalationContext,
  toList: (emails: string[]) => Found | undefined,
): Found | undefined {
  if (notifyType === 'admins' || notifyType === 'users')
    return toList(people.membersOf(team, notifyType === 'admins' ? 'admin' : 'user'));
  const all = toList(people.membersOf(team));
  if (notifyType === 'all') return all;
  if (notifyType === 'random') {
    note(at, 'it notifies a random member: one after the other here, each alert another one');
    return all && { ...all, roundRobin: true };
  }
  const target = team.routingRules?.find(({ isDefault }) => isDefault)?.notify;
  const schedule = notifyType === 'default' && target?.type === 'schedule' ? scheduleOf(target) : undefined;
  if (schedule) return { recipients: { schedule } };
  const reason = notifyType === 'default' ? 'its routing rules decide there' : `it notifies ${notifyType} of a team`;
  note(at, `${reason}, which a step cannot: it notifies all members of ${team.name}`);
  return all;
}

/** Alerts of these priorities are urgent if the rules of people depend on the priority; otherwise all are. */
const urgent = "contains(['P1', 'P2'], priority)";

export function toEvent(
  name: string,
  slug: string,
  planned: readonly PlannedStep[],
  subject: string,
  { channels, people, note }: EscalationContext,
): EventEntry {
  const steps = planned.slice(0, stepLimits.steps);
  const event = { slug, name: nameOf(name, slug) };
  const [first] = steps;
  if (!first) {
    note(subject, 'it notifies no one who is carried over: its event has no notification');
    return event;
  }
  if (planned.length > steps.length)
    note(subject, `it has ${planned.length} steps with its repetitions: the first ${steps.length} are carried over`);
  const maxMinutes = stepLimits.giveUpDays * 1_440;
  const inTime = steps.filter(({ minutes }) => minutes <= maxMinutes);
  if (inTime.length < steps.length) note(subject, `steps after ${stepLimits.giveUpDays} days are left out`);
  if (inTime.length === 0) return event;
  const days = Math.ceil(inTime.at(-1)!.minutes / 1_440);
  const made = inTime.map(({ minutes, recipients, roundRobin }, i) => {
    const after = durationOf(minutes - (inTime[i - 1]?.minutes ?? 0));
    return {
      ...(after && { after }),
      ...((i > 0 || minutes > 0) && { unless: 'acknowledged' }),
      channels,
      ...(i > 0 && { recipients }),
      ...(roundRobin && { round_robin: true }),
    };
  });
  const notification = {
    name: 'page',
    recipients: first.recipients,
    steps: made,
    ...(days > 1 && { give_up_after: `${days}d` }),
    notify_resolved: true,
    priority: 'urgent' as const,
    message: {
      subject: '{{ title }}',
      body: '**{{ title }}**\n\n{{ description }}\n\n[Acknowledge]({{ acknowledge_url }})\n',
    },
  };
  if (!people.dependOnPriority) return { ...event, notifications: [notification] };
  const { priority, ...other } = notification;
  return {
    ...event,
    notifications: [
      { ...notification, filter: urgent },
      { ...other, name: 'notice', filter: `!${urgent}` },
    ],
  };
}
