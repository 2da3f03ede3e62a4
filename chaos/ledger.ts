/** What a scenario ends with: everything accepted against everything that arrived. */
export interface Receipt {
  occurrence: string;
  recipient: string;
  id: string;
  at: number;
  answered: boolean;
  /** What it said. */
  text?: string;
}

export interface Ledger {
  scenario: string;
  /** Triggers answered with 201. */
  accepted: number;
  /** Messages that they must become. */
  expected: number;
  /** Of these, how many arrived, each counted once. */
  delivered: number;
  lost: number;
  /** Messages that arrived once more. */
  twins: number;
  /** How many the fault may account for at the most, message by message. */
  twins_allowed: number;
  /** From the fault to the first message after it, and to the last of all. */
  resumed_s: number;
  recovered_s: number;
  /** Other promises that were broken, in words. */
  broken: string[];
  pass: boolean;
}

export interface Facts {
  scenario: string;
  accepted: readonly string[];
  recipients: readonly string[];
  received: readonly Receipt[];
  /** When the fault began and, where it lasted, when it was over. */
  faultAt: number;
  faultOverAt?: number;
  /** For each message that the fault may repeat, by `keyOf`, how often. No other may arrive twice. */
  mayRepeat: ReadonlyMap<string, number>;
  broken: string[];
}

export function keyOf({ occurrence, recipient }: Pick<Receipt, 'occurrence' | 'recipient'>): string {
  return `${occurrence}/${recipient}`;
}

export function settleLedger(facts: Facts): Ledger {
  const { scenario, accepted, recipients, received, faultAt, faultOverAt = faultAt, mayRepeat } = facts;
  const arrived = Map.groupBy(received, keyOf);
  const wanted = accepted.flatMap(occurrence => recipients.map(recipient => keyOf({ occurrence, recipient })));
  const lost = wanted.filter(key => !arrived.has(key)).length;
  const twins = received.length - arrived.size;
  const broken = [...facts.broken];
  const renamed = [...arrived.values()].filter(each => new Set(each.map(({ id }) => id)).size > 1).length;
  if (renamed > 0) broken.push(`${renamed} messages arrived again under another id`);
  const unexplained = [...arrived].filter(([key, each]) => each.length - 1 > (mayRepeat.get(key) ?? 0)).length;
  if (unexplained > 0) broken.push(`${unexplained} messages arrived more often than the fault explains`);
  const after = received.map(({ at }) => at).filter(at => at > faultOverAt);
  const seconds = (at: number) => Math.max(0, Math.round((at - faultAt) / 100) / 10);
  return {
    scenario,
    accepted: accepted.length,
    expected: wanted.length,
    delivered: wanted.length - lost,
    lost,
    twins,
    twins_allowed: [...mayRepeat.values()].reduce((sum, times) => sum + times, 0),
    resumed_s: seconds(after.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)),
    recovered_s: seconds(received.reduce((most, { at }) => Math.max(most, at), faultAt)),
    broken,
    pass: lost === 0 && broken.length === 0 && wanted.length > 0,
  };
}
