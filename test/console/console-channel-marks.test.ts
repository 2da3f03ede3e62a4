/** The marks of a channel in the console. */
import { expect, test } from 'vitest';
import { channelMarks } from '../../console/src/pages/channels/channel-marks.ts';
import { channelStatesOf } from '../../src/core/history/states.ts';

const channel = {
  enabled: true,
  paused: false,
  paused_reason: null as string | null,
  problem: null as string | null,
  health: { hours: 24, sent: 0, failed: 0, unknown: 0 },
  reputation: null as Parameters<typeof channelMarks>[0]['reputation'],
  limited_until: null as string | null,
};
const counts = { hours: 24, messages: 200, bounced: 20, complained: 0, bounce_percent: 10, complaint_percent: 0 };
const held = { ...counts, since: null, bulk_paused_at: '2026-11-17T10:00:00.000Z', bulk_paused_reason: '10 % bounced' };
const read = (change: Partial<typeof channel>) => {
  const changed = { ...channel, ...change };
  const marks = channelMarks({ ...changed, states: channelStatesOf(changed) });
  return marks.map(({ name, color }) => `${name} (${color})`);
};

test('a channel is green only if it is enabled and nothing speaks against it', () => {
  expect(read({})).toEqual(['Enabled (teal)']);
  expect(read({ health: { ...channel.health, sent: 5, failed: 5 } })).toEqual(['Enabled (teal)']);
  expect(read({ health: { ...channel.health, failed: 5 } })).toEqual(['Enabled (gray)', 'Failing (red)']);
  expect(read({ health: { ...channel.health, unknown: 1 } })).toEqual(['Enabled (gray)', 'Failing (red)']);
  expect(read({ paused: true })).toEqual(['Enabled (gray)', 'Paused (yellow)']);
  const [, paused] = channelMarks({ ...channel, states: ['enabled', 'paused'], paused_reason: 'wrong price' });
  expect(paused!.meaning).toBe('Messages are kept until the channel is resumed: wrong price');
  expect(read({ reputation: held })).toEqual(['Enabled (gray)', 'Bulk paused (yellow)']);
  expect(read({ problem: 'no provider' })).toEqual(['Enabled (gray)', 'Can’t send (red)']);
  expect(read({ limited_until: '2026-11-18T00:00:00.000Z' })).toEqual([
    'Enabled (gray)',
    'Limit of the day reached (yellow)',
  ]);
  expect(read({ enabled: false, health: { ...channel.health, failed: 5 } })).toEqual(['Disabled (gray)']);
});
