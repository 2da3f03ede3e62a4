/** The state of a channel in words: what is set, and whether it works. */
import type { ChannelDetails } from '../../api-types.ts';
import { texts } from '../../texts/channels.ts';

export interface ChannelMark {
  name: string;
  color: 'teal' | 'gray' | 'yellow' | 'red';
  meaning: string;
}

type Channel = Pick<ChannelDetails, 'enabled' | 'paused' | 'problem' | 'health' | 'reputation'>;

export function channelMarks({ enabled, paused, problem, health, reputation }: Channel): ChannelMark[] {
  const { sent, failed, unknown } = health;
  const isFailing = sent === 0 && failed + unknown > 0;
  // Green only if nothing speaks against it.
  const bulkReason = reputation?.bulk_paused_at ? reputation.bulk_paused_reason : null;
  const color = problem || paused || bulkReason || isFailing ? 'gray' : 'teal';
  return [
    enabled
      ? { name: texts.enabled, color, meaning: texts.enabledMeaning }
      : { name: texts.disabled, color: 'gray', meaning: texts.disabledMeaning },
    ...(paused ? [{ name: texts.paused, color: 'yellow' as const, meaning: texts.pausedMeaning }] : []),
    ...(bulkReason
      ? [{ name: texts.bulkPaused, color: 'yellow' as const, meaning: texts.bulkPausedMeaning(bulkReason) }]
      : []),
    ...(problem ? [{ name: texts.cannotSend, color: 'red' as const, meaning: problem }] : []),
    ...(enabled && isFailing ? [{ name: texts.failing, color: 'red' as const, meaning: texts.failingMeaning }] : []),
  ];
}
