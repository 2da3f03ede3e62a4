/** Which addresses the channel `personal` uses. */
import { expect, test } from 'vitest';
import type { DecisionChannel, Recipient } from '../../src/core/decision/decide.ts';
import { decideChannels } from '../../src/core/decision/personal.ts';
import { generalCategory } from '../../src/core/decision/preferences.ts';

const channelOf = (type: string, more: Partial<DecisionChannel> = {}): DecisionChannel => ({
  id: type.length,
  slug: `by-${type}`,
  type,
  enabled: true,
  reach: type === 'inbox' ? 'recipient' : 'address',
  usable: true,
  ...more,
});
const circumstances = {
  topic: { category: generalCategory, event: undefined },
  defaults: { timezone: null, quiet_hours: null },
  isUrgent: false,
  now: 0,
};
const email = { name: 'email', value: 'ann@x.test', disabled: false };
const work = { name: 'email-work', value: 'work@x.test', disabled: false };
const sms = { name: 'sms', value: '+15555550100', disabled: false };
const verified = { verified: true };
const suppression = { target: 'ann@x.test', reason: 'bounced' as const, source: 'api', since: new Date(0) };
const smsFirst = { normal: [{ by: 'sms' as const }, { by: 'email' as const, after: '5m' }] };
const channels = [channelOf('email'), channelOf('sms'), channelOf('inbox')];

interface Case {
  addresses: Recipient['addresses'];
  rules?: Recipient['rules'];
  usable?: DecisionChannel[];
  names?: string[];
  locked?: boolean;
}

function decided({ addresses, rules = null, usable = channels, names = ['personal'], locked = false }: Case): string[] {
  const user = { user_id: 1, username: 'ann@x.test', email: 'ann@x.test', timezone: null, quiet_hours: null };
  const recipient: Recipient = { ...user, locked, addresses, choices: null, rules };
  return decideChannels(names, usable, recipient, {}, circumstances).map(
    ({ channel, decision }) => `${channel.type} ${decision.address}: ${decision.reason ?? 'now'}`,
  );
}

const inbox = 'inbox ann@x.test: now';

test.each<[string, Case, string[]]>([
  [
    'none is verified: all are used, as the inbox is no address',
    { addresses: [email, sms] },
    ['email ann@x.test: now', 'sms +15555550100: now', inbox],
  ],
  [
    'one is verified: the other is not used',
    { addresses: [{ ...email, ...verified }, sms] },
    ['email ann@x.test: now', 'sms +15555550100: address.unverified', inbox],
  ],
  [
    'a verified address of the same kind is used instead',
    { addresses: [email, { ...work, ...verified }], usable: [channelOf('email')] },
    ['email work@x.test: now'],
  ],
  [
    'the only verified one is disabled: the others are used',
    { addresses: [{ ...email, ...verified, disabled: true }, sms] },
    ['email ann@x.test: address.disabled', 'sms +15555550100: now', inbox],
  ],
  [
    'the only verified one is suppressed: the others are used',
    { addresses: [{ ...email, ...verified, suppression }, sms] },
    ['email ann@x.test: address.suppressed', 'sms +15555550100: now', inbox],
  ],
  [
    'no channel reaches the verified one: the others are used',
    { addresses: [{ ...email, ...verified }, sms], usable: [channelOf('email', { enabled: false }), channelOf('sms')] },
    ['email ann@x.test: channel.disabled', 'sms +15555550100: now'],
  ],
  [
    'a rule for an address that is not verified is left out',
    { addresses: [{ ...email, ...verified }, sms], rules: smsFirst },
    ['sms +15555550100: address.unverified', 'email ann@x.test: reach.later'],
  ],
  [
    'the only rule is left out: a verified address without a rule is used at once',
    { addresses: [{ ...email, ...verified }, sms], rules: { normal: [{ by: 'sms' }] } },
    ['email ann@x.test: now', 'sms +15555550100: address.unverified', inbox],
  ],
  [
    'a sandbox does not use the username in place of an address that is not verified',
    {
      addresses: [{ ...email, ...verified }, sms],
      usable: [channelOf('email'), channelOf('sms', { reach: 'recipient' })],
    },
    ['email ann@x.test: now', 'sms +15555550100: address.unverified'],
  ],
  [
    'a channel that is named uses addresses that are not verified',
    { addresses: [{ ...email, ...verified }, sms], names: ['sms'] },
    ['sms +15555550100: now'],
  ],
  [
    'another reason comes first',
    { addresses: [{ ...email, ...verified }, sms], locked: true, usable: channels.slice(0, 2) },
    ['email ann@x.test: user.locked', 'sms +15555550100: user.locked'],
  ],
])('%s', (_title, given, expected) => {
  expect(decided(given)).toEqual(expected);
});
