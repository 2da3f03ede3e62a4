/** Texts of the console: responses to an occurrence with steps. */
import { countOf } from './count-of.ts';
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  acknowledge: 'Acknowledge',
  acknowledgeEvent: (event: Part) => `Acknowledge ${event}`,
  acknowledgedToast: 'Acknowledged. Later steps are stopped.',
  snooze: 'Snooze',
  snoozeEvent: (event: Part) => `Snooze ${event}`,
  forHours: (n: number) => `For ${countOf(n, 'hour')}`,
  untilTime: (time: Part) => `Until ${time}`,
  otherTime: 'Until another time…',
  snoozeUntil: 'Snooze until',
  until: 'Until',
  snoozeHint: 'Nothing escalates until then. Then the steps run again from the first one, unless it is resolved.',
  snoozeLimit: (days: number) => `Choose a time within the next ${countOf(days, 'day')}.`,
  snoozedToast: (time: Part) => `Snoozed until ${time}.`,
  notSnoozedToast: 'It is over, so it was not snoozed.',
  unacknowledge: 'Unacknowledge',
  unacknowledgeEvent: (event: Part) => `Unacknowledge ${event}`,
  unsnooze: 'End snooze',
  unsnoozeEvent: (event: Part) => `End snooze of ${event}`,
  unacknowledgeQuestion: 'Let it escalate again?',
  unacknowledgeHint: 'The steps run again at once, from the first one. People are notified again.',
  unacknowledgedToast: 'It escalates again.',
  resolve: 'Resolve',
  resolveEvent: (event: Part) => `Resolve ${event}`,
  resolvedToast: 'Resolved.',
  resolveQuestion: 'Resolve this occurrence?',
  resolveHint:
    'Later steps are stopped. If the notification is set to do so, everyone who was notified gets a final message.',
});
