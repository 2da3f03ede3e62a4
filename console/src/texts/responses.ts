/** Texts of the console: responses to an occurrence with steps. */
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  acknowledge: 'Acknowledge',
  acknowledgeEvent: (event: Part) => `Acknowledge ${event}`,
  acknowledgedToast: 'Acknowledged. Later steps are stopped.',
  resolve: 'Resolve',
  resolveEvent: (event: Part) => `Resolve ${event}`,
  resolvedToast: 'Resolved.',
  resolveQuestion: 'Resolve this occurrence?',
  resolveHint:
    'Later steps are stopped. If the notification is set to do so, everyone who was notified gets a final message.',
});
