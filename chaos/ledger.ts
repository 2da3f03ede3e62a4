/** What a scenario ends with: everything accepted against everything that arrived. */
export interface Receipt {
  occurrence: string;
  recipient: string;
  id: string;
  at: number;
  answered: boolean;
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
  /** How many of them the fault may account for. */
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
  /** What was in flight at the fault, or whose answer was lost. */
  inFlight: number;
  broken: string[];
}

export function settleLedger(facts: Facts): Ledger {
  const { scenario, accepted, recipients, received, faultAt, faultOverAt = faultAt, inFlight } = facts;
  const arrived = new Map<string, Set<string>>();
  for (const { occurrence, recipient, id } of received) {
    const key = `${occurrence}/${recipient}`;
    arrived.set(key, (arrived.get(key) ?? new Set()).add(id));
  }
  const wanted = accepted.flatMap(occurrence => recipients.map(recipient => `${occurrence}/${recipient}`));
  const lost = wanted.filter(key => !arrived.has(key)).length;
  const twins = received.length - arrived.size;
  const broken = [...facts.broken];
  const strangers = [...arrived.values()].filter(ids => ids.size > 1).length;
  if (strangers > 0) broken.push(`${strangers} messages arrived again under another id`);
  const after = received.map(({ at }) => at).filter(at => at > faultOverAt);
  const seconds = (at: number) => Math.max(0, Math.round((at - faultAt) / 100) / 10);
  return {
    scenario,
    accepted: accepted.length,
    expected: wanted.length,
    delivered: wanted.length - lost,
    lost,
    twins,
    twins_allowed: inFlight,
    resumed_s: seconds(after.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)),
    recovered_s: seconds(received.reduce((most, { at }) => Math.max(most, at), faultAt)),
    broken,
    pass: lost === 0 && twins <= inFlight && broken.length === 0 && wanted.length > 0,
  };
}
