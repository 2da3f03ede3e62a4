/** The state of a channel in words: what is set, and whether it works. */
import type { ChannelDetails } from '../../api-types.ts';
import { channelStates, plainState, type State } from '../../components/statuses.ts';
import { texts } from '../../texts/channels.ts';

type Channel = Pick<ChannelDetails, 'states' | 'problem' | 'paused_reason' | 'reputation'>;

export function channelMarks({ states, problem, paused_reason, reputation }: Channel): State[] {
  const bulkReason = reputation?.bulk_paused_reason;
  const meanings: Record<string, string | null | undefined> = {
    paused: paused_reason && texts.pausedMeaning(paused_reason),
    bulk_paused: bulkReason && texts.bulkPausedMeaning(bulkReason),
    cannot_send: problem,
  };
  return states.map(name => {
    const state = channelStates[name] ?? plainState(name);
    // Green only if nothing speaks against it.
    const color = name === 'enabled' && states.length > 1 ? 'gray' : state.color;
    return { ...state, color, meaning: meanings[name] ?? state.meaning };
  });
}
