/** The result of a scenario: everything that was accepted compared with everything that arrived. */
export interface Receipt {
  occurrence: string;
  recipient: string;
  id: string;
  at: number;
  answered: boolean;
  /** Content of the message. */
  text?: string;
  /** The path of the sink that it was posted to. */
  path?: string;
}

export interface Ledger {
  scenario: string;
  /** Triggers that got a 201. */
  accepted: number;
  /** Messages that these triggers must result in. */
  expected: number;
  /** How many of these arrived, each counted once. */
  delivered: number;
  lost: number;
  /** Additional arrivals of the same message. */
  duplicates: number;
  /** The maximum number that the fault can explain, message by message. */
  duplicates_explained: number;
  /** Seconds from the fault to the first message after it, and to the last message. */
  resumed_s: number;
  recovered_s: number;
  /** Other guarantees that were broken. */
  broken: string[];
  pass: boolean;
}

export interface Facts {
  scenario: string;
  accepted: readonly string[];
  recipients: readonly string[];
  /** Further messages that must arrive, as returned by `keyOf`. */
  expectedToo?: readonly string[];
  received: readonly Receipt[];
  /** When the fault started and, if it lasted for a while, when it ended. */
  faultAt: number;
  faultOverAt?: number;
  /** How often the fault may repeat each message, keyed by `keyOf`. No other message may arrive twice. */
  mayRepeat: ReadonlyMap<string, number>;
  broken: string[];
}

export function keyOf({ occurrence, recipient }: Pick<Receipt, 'occurrence' | 'recipient'>): string {
  return `${occurrence}/${recipient}`;
}

export function settleLedger(facts: Facts): Ledger {
  const {
    scenario,
    accepted,
    recipients,
    expectedToo = [],
    received,
    faultAt,
    faultOverAt = faultAt,
    mayRepeat,
  } = facts;
  const arrived = Map.groupBy(received, keyOf);
  const expected = accepted
    .flatMap(occurrence => recipients.map(recipient => keyOf({ occurrence, recipient })))
    .concat(expectedToo);
  const lost = expected.filter(key => !arrived.has(key)).length;
  const duplicates = received.length - arrived.size;
  const broken = [...facts.broken];
  const renamed = [...arrived.values()].filter(each => new Set(each.map(({ id }) => id)).size > 1).length;
  if (renamed > 0) broken.push(`${renamed} messages arrived again with a different id`);
  const unexplained = [...arrived].filter(([key, each]) => each.length - 1 > (mayRepeat.get(key) ?? 0));
  if (unexplained.length > 0) {
    const [key, each] = unexplained[0]!;
    const times = each.map(({ at }) => `${(at - faultAt) / 1_000} s`).join(', ');
    broken.push(
      `${unexplained.length} messages arrived more often than the fault explains, such as ${key} at ${times}`,
    );
  }
  const after = received.map(({ at }) => at).filter(at => at > faultOverAt);
  const seconds = (at: number) => Math.max(0, Math.round((at - faultAt) / 100) / 10);
  return {
    scenario,
    accepted: accepted.length,
    expected: expected.length,
    delivered: expected.length - lost,
    lost,
    duplicates,
    duplicates_explained: [...mayRepeat.values()].reduce((sum, times) => sum + times, 0),
    resumed_s: seconds(after.reduce((first, at) => Math.min(first, at), Number.POSITIVE_INFINITY)),
    recovered_s: seconds(received.reduce((last, { at }) => Math.max(last, at), faultAt)),
    broken,
    pass: lost === 0 && broken.length === 0 && expected.length > 0,
  };
}
