/**
 * Decides for the channel `personal`, which stands for the ways in which each recipient wants to be reached: by the rules for urgent or
 * for other messages, one after the other. Someone without rules, or who cannot be reached by any of them, is reached by all channels at
 * once: a message too many is better than none. For the same reason, addresses that are not verified are used until the recipient can be
 * reached at one that is.
 */
import { listReachTimes } from '../oncall/reach.ts';
import { addressKind } from '../text/text.ts';
import type { TriggerOptions } from '../trigger.ts';
import {
  type Circumstances,
  type Decision,
  type DecisionChannel,
  decide,
  personal,
  type Recipient,
  selectChannels,
} from './decide.ts';

interface Personal<Channel> {
  channel: Channel;
  decision: Decision;
  /** How many messages to the same address the rules ask for before this one. */
  turn: number;
}

/** Decides for the channels of these slugs and types, including `personal`. */
export function decideChannels<Channel extends DecisionChannel>(
  names: readonly string[],
  usable: readonly Channel[],
  recipient: Recipient,
  options: TriggerOptions,
  circumstances: Circumstances,
): Personal<Channel>[] {
  const named = names.filter(name => name !== personal);
  const decided = selectChannels(named, usable).flatMap(channel =>
    decide(channel, recipient, options, circumstances).map(decision => ({ channel, decision, turn: 0 })),
  );
  if (named.length === names.length) return decided;
  return [...decided, ...decidePersonal(selectChannels([personal], usable), recipient, options, circumstances)];
}

/** `channels` are all that reach individual people; of each type, the first one that can send is used. */
export function decidePersonal<Channel extends DecisionChannel>(
  channels: readonly Channel[],
  recipient: Recipient,
  options: TriggerOptions,
  circumstances: Circumstances,
): Personal<Channel>[] {
  const { isUrgent, now } = circumstances;
  const verifiedOnly = isReachedVerified(channels, recipient, options, circumstances);
  const by = Map.groupBy(
    channels.toSorted((a, b) => Number((a.projectId ?? null) === null) - Number((b.projectId ?? null) === null)),
    ({ type }) => type,
  );
  const decideBy = (type: string, at: number): Omit<Personal<Channel>, 'turn'>[] => {
    const decided = (by.get(type) ?? []).map(channel =>
      decide(channel, recipient, options, { ...circumstances, verifiedOnly, now: at }).map(decision => ({
        channel,
        decision,
      })),
    );
    return decided.find(own => own.some(isOpen)) ?? decided[0] ?? [];
  };
  const turns = new Map<string, number>();
  const ruled = listReachTimes(recipient.rules?.[isUrgent ? 'important' : 'normal'] ?? []).flatMap(rule => {
    const at = now + rule.afterMs;
    return decideBy(rule.by, at).flatMap(({ channel, decision }): Personal<Channel>[] => {
      const target = `${channel.id} ${decision.address}`;
      const turn = turns.get(target) ?? 0;
      turns.set(target, turn + 1);
      if (!isOpen({ decision })) return turn === 0 ? [{ channel, decision, turn }] : [];
      if (decision.reason || at === now) return [{ channel, decision, turn }];
      const later: Decision = { address: decision.address!, reason: 'reach.later', dueAt: new Date(at) };
      return [{ channel, decision: later, turn }];
    });
  });
  if (ruled.some(isOpen)) return ruled;
  const all = [...by.keys()].flatMap(type => decideBy(type, now)).map(one => ({ ...one, turn: 0 }));
  const usual = all.filter(({ decision }) => decision.reason !== 'address.missing');
  if (usual.some(isOpen)) return [...ruled.filter(one => !usual.some(other => isSame(one, other))), ...usual];
  return ruled.length > 0 ? ruled : usual.length > 0 ? usual : all.slice(0, 1);
}

const isOpen = ({ decision: { reason, dueAt } }: { decision: Decision }) => reason === undefined || dueAt !== undefined;

/** Returns whether one of the channels reaches the recipient at a verified address. An inbox, which has no address, does not count. */
function isReachedVerified(
  channels: readonly DecisionChannel[],
  recipient: Recipient,
  options: TriggerOptions,
  circumstances: Circumstances,
): boolean {
  const verified = recipient.addresses.filter(address => address.verified);
  const types = new Set(verified.map(({ name }) => addressKind(name)));
  return channels
    .filter(({ type }) => types.has(type))
    .some(channel =>
      decide(channel, recipient, options, { ...circumstances, verifiedOnly: true }).some(
        decision => isOpen({ decision }) && verified.some(({ value }) => value === decision.address),
      ),
    );
}

function isSame(one: Personal<DecisionChannel>, other: Personal<DecisionChannel>): boolean {
  return one.channel === other.channel && one.decision.address === other.decision.address;
}
