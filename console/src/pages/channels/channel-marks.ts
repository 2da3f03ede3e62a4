/** The state of a channel in words: what is set, and whether it works. */
import type { ChannelDetails } from '../../api-types.ts';
import { channelStates, type State } from '../../components/statuses.ts';
import { texts } from '../../texts/channels.ts';

type Channel = Pick<ChannelDetails, 'enabled' | 'paused' | 'problem' | 'health' | 'reputation'>;

export function channelMarks({ enabled, paused, problem, health, reputation }: Channel): State[] {
  const { sent, failed, unknown } = health;
  const isFailing = sent === 0 && failed + unknown > 0;
  const stateOf = (name: string) => channelStates[name]!;
  const bulkReason = reputation?.bulk_paused_at ? reputation.bulk_paused_reason : null;
  // Green only if nothing speaks against it.
  const isGreen = !problem && !paused && !bulkReason && !isFailing;
  return [
    enabled ? { ...stateOf('enabled'), ...(!isGreen && { color: 'gray' as const }) } : stateOf('disabled'),
    ...(paused ? [stateOf('paused')] : []),
    ...(bulkReason ? [{ ...stateOf('bulk_paused'), meaning: texts.bulkPausedMeaning(bulkReason) }] : []),
    ...(problem ? [{ ...stateOf('cannot_send'), meaning: problem }] : []),
    ...(enabled && isFailing ? [stateOf('failing')] : []),
  ];
}
