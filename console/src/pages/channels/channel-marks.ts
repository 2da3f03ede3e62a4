/** The state of a channel in words: what is set, and whether it works. */
import type { ChannelDetails } from '../../api-types.ts';
import { texts } from '../../texts/channels.ts';

export interface ChannelMark {
  name: string;
  color: 'teal' | 'gray' | 'yellow' | 'red';
  meaning: string;
}

type Channel = Pick<ChannelDetails, 'enabled' | 'paused' | 'problem' | 'health'>;

export function channelMarks({ enabled, paused, problem, health }: Channel): ChannelMark[] {
  const { sent, failed, unknown } = health;
  const isFailing = sent === 0 && failed + unknown > 0;
  // Green only if nothing speaks against it.
  const color = problem || paused || isFailing ? 'gray' : 'teal';
  return [
    enabled
      ? { name: texts.enabled, color, meaning: texts.enabledMeaning }
      : { name: texts.disabled, color: 'gray', meaning: texts.disabledMeaning },
    ...(paused ? [{ name: texts.paused, color: 'yellow' as const, meaning: texts.pausedMeaning }] : []),
    ...(problem ? [{ name: texts.cannotSend, color: 'red' as const, meaning: problem }] : []),
    ...(enabled && isFailing ? [{ name: texts.failing, color: 'red' as const, meaning: texts.failingMeaning }] : []),
  ];
}
