/** Texts of the console: personal rules. */

import { countOf } from './count-of.ts';
import { isolated } from './isolated.ts';
import type { Part } from './part.ts';

export const texts = isolated({
  rules: 'Personal rules',
  hint: 'How notifications and steps with the channel “personal” reach this user, one after the other, until someone acknowledges or resolves.',
  sets: { important: 'Urgent', normal: 'Other' } as Record<'important' | 'normal', string>,
  allAtOnce: 'By all channels at once',
  none: 'No rules. Messages are sent at once, by all channels that the user has an address for.',
  /** What is sent, by type of the channels. */
  messages: {
    email: 'email',
    sms: 'SMS message',
    voice: 'call',
    whatsapp: 'WhatsApp message',
    telegram: 'Telegram message',
    slack: 'Slack message',
    teams: 'Microsoft Teams message',
    discord: 'Discord message',
    chat: 'chat message',
    webpush: 'web push message',
    push: 'mobile push message',
    inbox: 'inbox message',
  } as Record<string, string>,
  now: (message: Part) => `${message} now`,
  after: (message: Part, time: Part) => `${message} after ${time}`,
  every: (times: number, message: string, time: Part) => `${countOf(times, message)} every ${time}`,
  seconds: (n: number) => countOf(n, 'second'),
  minutes: (n: number) => countOf(n, 'minute'),
  hours: (n: number) => countOf(n, 'hour'),
  edit: 'Edit',
  editRules: 'Edit personal rules',
  editHint:
    'The minutes count from when the notification or step is due. What is sent several times is repeated at this interval. Without rules, all channels are used at once.',
  setHints: { important: 'Messages with the priority urgent.', normal: 'All other messages.' } as Record<
    'important' | 'normal',
    string
  >,
  by: 'By',
  minutesAfter: 'Minutes after',
  times: 'Times',
  field: (set: Part, number: number, field: Part) => `${set} ${number}: ${field}`,
  removeRule: (set: Part, number: number) => `Remove rule ${number} of ${set}`,
  addRule: 'Add rule',
  addRuleTo: (set: Part) => `Add rule for ${set}`,
  save: 'Save',
  saved: 'Saved.',
});
