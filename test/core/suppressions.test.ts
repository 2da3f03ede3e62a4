/** The suppression list in decisions, and how targets are read and compared. */
import { expect, test } from 'vitest';
import { readSuppressionHeader, readSuppressionRow } from '../../src/core/audience/suppression-file.ts';
import { readTarget, type Suppression, targetsOf } from '../../src/core/audience/suppressions.ts';
import { type DecisionChannel, decide, type Recipient, type RecipientAddress } from '../../src/core/decision/decide.ts';
import { explainDelivery } from '../../src/core/decision/explain.ts';
import { generalCategory } from '../../src/core/decision/preferences.ts';
import { recheck } from '../../src/core/decision/recheck.ts';

const suppression: Suppression = {
  target: 'ada@x.test',
  reason: 'bounced',
  source: 'mailgun',
  since: new Date('2026-01-31T09:00:00Z'),
};
const detail = 'bounced, source mailgun, since 2026-01-31T09:00:00.000Z';
const topic = { category: { ...generalCategory, kind: 'required' as const }, event: 'shop/web/paid' };
const circumstances = { topic, defaults: { timezone: null, quiet_hours: null }, isUrgent: true, now: 0 };
const channel = (type: string): DecisionChannel => ({
  id: 1,
  slug: 'one',
  type,
  enabled: true,
  reach: 'address',
  usable: true,
});
const recipient = (...addresses: Partial<RecipientAddress>[]): Recipient => ({
  user_id: 1,
  username: 'ada@x.test',
  email: 'ada@x.test',
  locked: false,
  addresses: addresses.map(address => ({ name: 'email', value: 'ada@x.test', disabled: false, ...address })),
  choices: null,
  timezone: null,
  quiet_hours: null,
});

test('an address on the list is refused with the reason, source and time of the entry, even for required categories', () => {
  const [decision, ...others] = decide(channel('email'), recipient({ suppression }), {}, circumstances);
  expect(others).toEqual([]);
  expect(decision).toEqual({ address: 'ada@x.test', reason: 'address.suppressed', detail });
  const delivery = { status: 'suppressed' as const, channel: 'mail', attempts: 0, sent_at: null, digest: null };
  expect(
    explainDelivery({ ...delivery, next_attempt_at: null, ...decision!, reason: decision!.reason! } as never),
  ).toBe(`It was not sent to ada@x.test via mail: the address is on the suppression list (${detail}).`);
  const domain = { ...suppression, target: '@x.test' };
  const [byDomain] = decide(channel('email'), recipient({ suppression: domain }), {}, circumstances);
  expect(byDomain!.detail).toBe(`the domain @x.test: ${detail}`);
});

test('a disabled address is reported as disabled, and other addresses of the same channel are still used', () => {
  const [disabled] = decide(channel('email'), recipient({ suppression, disabled: true }), {}, circumstances);
  expect(disabled!.reason).toBe('address.disabled');
  const devices = recipient(
    { name: 'webpush', value: 'phone', suppression },
    { name: 'webpush2', value: 'laptop' },
    { name: 'webpush', value: 'desk' },
  );
  expect(decide(channel('webpush'), devices, {}, circumstances)).toEqual([{ address: 'desk' }]);
});

test('a waiting delivery is suppressed once its address is on the list, but not by an entry for another channel', () => {
  const delivery = {
    address: 'ada@x.test',
    priority: 1,
    provider_index: 0,
    notification_id: 1,
    step: 0,
    is_dropped: false,
    digest_id: null,
  };
  const occurrence = {
    cancelled_at: null,
    acknowledged_at: null,
    resolved_at: null,
    expires_at: null,
    due_at: new Date(),
    round_began_at: null,
    key_id: null,
    priority: 1,
    context: {},
    is_keyed: false,
  };
  const notifications = [{ id: 1, active: true, channels: ['email'] }];
  const plan = {
    id: 1,
    project: { id: 1 },
    application: { id: 1 },
    active: true,
    paused: null,
    paused_keys: {},
    topic,
    notifications,
    organization: circumstances.defaults,
  };
  const check = (user: Recipient) => {
    const via = { ...channel('email'), paused: false, bulkPaused: false, providers: [{}] };
    return recheck({ delivery, occurrence, recipient: user, channel: via, plan }, 0);
  };
  expect(check(recipient({}))).toBeUndefined();
  expect(check(recipient({ suppression }))).toEqual({ status: 'suppressed', reason: 'address.suppressed', detail });
  expect(check(recipient({}, { name: 'slack', suppression }))).toBeUndefined();
});

test('emails are compared without case, and by their domain; other addresses exactly', () => {
  expect(targetsOf({ name: 'email-work', value: 'Ada@X.Test' })).toEqual([
    { channelType: 'email', target: 'ada@x.test' },
    { channelType: 'email', target: '@x.test' },
  ]);
  expect(targetsOf({ name: 'phone', value: '+15555550100' })).toEqual([{ channelType: 'sms', target: '+15555550100' }]);
  expect(targetsOf({ name: 'slack', value: 'U0AB' })).toEqual([{ channelType: 'slack', target: 'U0AB' }]);
  expect(readTarget('email', 'Ada@X.Test')).toEqual({ value: 'ada@x.test' });
  expect(readTarget('email', '@X.Test')).toEqual({ value: '@x.test' });
  expect(readTarget('sms', '+1 555 555 0100')).toEqual({ value: '+15555550100' });
  expect(readTarget('slack', 'U0AB')).toEqual({ value: 'U0AB' });
  for (const bad of ['@', '@localhost', 'ada', '@@x.test', 'ada @x.test']) {
    expect(readTarget('email', bad), bad).toEqual({ mistake: expect.stringContaining('domain such as @example.com') });
  }
  expect(readTarget('sms', '@x.test')).toEqual({ mistake: expect.any(String) });
});

test('a file is read with defaults, and each mistake names its row and column', () => {
  const surroundings = { now: Date.parse('2026-01-01T00:00:00Z'), projectIds: new Map([['shop', 7]]) };
  const { columns } = readSuppressionHeader(['Target', 'channel_type', 'reason', 'detail', 'expires_at', 'source']) as {
    columns: never[];
  };
  expect(readSuppressionRow(["'@X.test"], columns, 2, surroundings)).toEqual({
    value: {
      target: '@x.test',
      channel_type: 'email',
      reason: 'manual',
      detail: null,
      expires_at: null,
      projects: null,
    },
  });
  expect(
    readSuppressionRow(["'+1 555 555 0100", 'sms', 'complained', 'STOP', '2027-01-31'], columns, 3, surroundings),
  ).toEqual({
    value: {
      target: '+15555550100',
      channel_type: 'sms',
      reason: 'complained',
      detail: 'STOP',
      expires_at: new Date('2027-01-31T00:00:00Z'),
      projects: null,
    },
  });
  const fields = (...cells: string[]) => {
    const read = readSuppressionRow(cells, columns, 4, surroundings);
    return 'mistakes' in read ? read.mistakes.map(({ row, field }) => `${row} ${field}`) : [];
  };
  expect(fields('')).toEqual(['4 target']);
  expect(fields('x', 'pigeon', 'gone', 'x'.repeat(501), 'soon')).toEqual([
    '4 channel_type',
    '4 reason',
    '4 detail',
    '4 expires_at',
  ]);
  expect(fields('a@x.test', '', '', '', '2025-01-31')).toEqual(['4 expires_at']);
  expect(fields('a@x.test', '', '', 'a\0')).toEqual(['4 detail']);
  expect(fields(...Array.from({ length: 7 }, () => ''))).toEqual(['4 row']);
  expect(readSuppressionHeader(['target', 'target'])).toEqual({
    mistakes: [{ row: 1, field: 'target', message: 'is duplicated' }],
  });
  expect(readSuppressionHeader(['email'])).toMatchObject({ mistakes: [{ field: 'email' }, { field: 'target' }] });
});
