/**
 * The servers that messages of one provider lead to, such as the domains of email addresses. A server that defers messages
 * (greylisting, a full mailbox) says nothing about the provider, but if it takes long to say so, each attempt occupies one of
 * the provider's slots. Therefore such a destination gets only a part of them, until it accepts a message.
 */

/** The part of the slots that messages to a deferring destination may hold, at least one. */
const deferringShare = 0.25;
/** Deferrals in a row that make a destination slow, and how long each took. A quick one costs others nothing. */
const slowDeferrals = 3;
const slowMs = 1_000;
/** How long a deferral counts. Longer than the delay before the next retry, so that a destination with few messages is remembered. */
const deferringMs = 7_200_000;
/** Bounds memory: a list may contain any number of domains. */
const maxDeferring = 10_000;

interface Deferrals {
  count: number;
  at: number;
}

export class Destinations {
  readonly #maxPerDestination: number;
  readonly #inFlight = new Map<string, number>();
  /** Destinations that deferred slowly since they last accepted a message, oldest deferral first. */
  readonly #deferrals = new Map<string, Deferrals>();

  /** `slots`: how many messages the provider can have in flight; undefined: any number. */
  constructor(slots = Number.POSITIVE_INFINITY) {
    this.#maxPerDestination = Math.max(1, Math.floor(slots * deferringShare));
  }

  /** Returns whether a message to this address should wait, because its destination defers and has enough in flight. */
  isCrowded(address: string, now: number): boolean {
    if (this.#deferrals.size === 0) return false;
    const destination = destinationOf(address);
    const deferrals = this.#deferrals.get(destination);
    if (!deferrals || deferrals.count < slowDeferrals || now - deferrals.at > deferringMs) return false;
    return (this.#inFlight.get(destination) ?? 0) >= this.#maxPerDestination;
  }

  enter(address: string): void {
    const destination = destinationOf(address);
    this.#inFlight.set(destination, (this.#inFlight.get(destination) ?? 0) + 1);
  }

  leave(address: string): void {
    const destination = destinationOf(address);
    const others = this.#inFlight.get(destination)! - 1;
    if (others > 0) this.#inFlight.set(destination, others);
    else this.#inFlight.delete(destination);
  }

  recordDeferral(address: string, tookMs: number, now: number): void {
    if (tookMs < slowMs) return;
    const destination = destinationOf(address);
    const count = (this.#deferrals.get(destination)?.count ?? 0) + 1;
    this.#deferrals.delete(destination);
    this.#deferrals.set(destination, { count, at: now });
    if (this.#deferrals.size > maxDeferring) this.#deferrals.delete(this.#deferrals.keys().next().value!);
  }

  recordSent(address: string): void {
    if (this.#deferrals.size > 0) this.#deferrals.delete(destinationOf(address));
  }
}

/** Returns the domain of an email address, the host of a URL, also in a push subscription, or the address itself. */
export function destinationOf(address: string): string {
  const host = address.includes('://') ? /:\/\/([^/?#"]+)/.exec(address)?.[1] : undefined;
  return (host ?? address.slice(address.lastIndexOf('@') + 1)).toLowerCase();
}
