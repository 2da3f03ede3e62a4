/**
 * Opened providers, one for each entry of a channel, kept while its settings stay the same. A provider that keeps failing
 * is rested: after so many failures in a row nothing is sent to it until it has had its pause, then one message tries.
 */
import { canonicalJson } from '../core/json.ts';
import { PrioritySemaphore } from '../lib/priority-semaphore.ts';
import type { Outcome, Outgoing, Sender, Tools } from '../providers/sending.ts';
import type { PlannedChannel, PlannedProvider } from '../services/plans.ts';
import type { Circuit } from './meters.ts';

const failuresBeforeRest = 10;
const restMs = 30_000;
const trialMs = 1_000;

interface Open {
  type: string;
  provider: string;
  fingerprint: string;
  sender: Sender;
  line: PrioritySemaphore | undefined;
  underWay: number;
  failures: number;
  restingUntil: number;
}

/** Who wants to know how channels fare. */
export interface Health {
  /** A provider of it rests now. */
  began(channel: PlannedChannel, provider: string): void;
  gotThrough(channel: PlannedChannel): void;
}

export class Senders {
  readonly #tools: Tools;
  readonly #health: Health;
  readonly #open = new Map<string, Open>();

  constructor(tools: Tools, health: Health = unheard) {
    this.#tools = tools;
    this.#health = health;
  }

  /** Until when this provider rests; 0 when it does not. */
  restingUntil(channel: PlannedChannel, index: number, now: number): number {
    const open = this.#open.get(nameOf(channel, index));
    if (!open || open.restingUntil === 0) return 0;
    if (open.restingUntil > now) return open.restingUntil;
    // The rest is over, and one message tries: the others wait for how it fares.
    return open.underWay > 0 ? now + trialMs : 0;
  }

  /**
   * Resolves when it can take one more, to what must be called when that is done; the more urgent go first. Written
   * before it was their turn, 250 mails of a fan-out waited as garbage to be: each cost 1.5 times as much.
   */
  async enter(channel: PlannedChannel, index: number, priority: number): Promise<() => void> {
    const { line } = this.#sender(channel, index);
    if (!line) return nothing;
    await line.enter(priority);
    return () => line.leave();
  }

  async send(channel: PlannedChannel, index: number, outgoing: Outgoing): Promise<Outcome> {
    const open = this.#sender(channel, index);
    open.underWay++;
    try {
      const outcome = await open.sender.send(outgoing);
      this.#judge(open, outcome, channel);
      return outcome;
    } catch (error) {
      // A mistake in the provider's code must not take the worker along.
      return { ok: false, retry: true, unknown: true, reason: `the provider failed: ${(error as Error).message}` };
    } finally {
      open.underWay--;
    }
  }

  /** Of every provider that something was sent to. */
  circuits(now: number): Circuit[] {
    return [...this.#open.values()].map(({ type, provider, restingUntil }) => {
      const state = restingUntil === 0 ? 'closed' : restingUntil > now ? 'open' : 'half_open';
      return { type, provider, state };
    });
  }

  async close(): Promise<void> {
    const senders = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(senders.map(({ sender }) => sender.close()));
  }

  #sender(channel: PlannedChannel, index: number): Open {
    const name = nameOf(channel, index);
    const planned = channel.providers[index]!;
    const fingerprint = fingerprintOf(planned);
    const known = this.#open.get(name);
    if (known?.fingerprint === fingerprint) return known;
    known?.sender.close().catch(() => {});
    const sender = planned.provider.open(planned.settings as never, this.#tools);
    const line = sender.atOnce === undefined ? undefined : new PrioritySemaphore(sender.atOnce);
    const names = { type: channel.type, provider: planned.provider.name };
    const opened: Open = { ...names, fingerprint, sender, line, underWay: 0, failures: 0, restingUntil: 0 };
    this.#open.set(name, opened);
    return opened;
  }

  /** Only what says something about the provider counts, not what is wrong with one message. */
  #judge(open: Open, outcome: Outcome, channel: PlannedChannel): void {
    if (outcome.ok) this.#health.gotThrough(channel);
    if (outcome.ok || !outcome.retry) {
      open.failures = 0;
      open.restingUntil = 0;
      return;
    }
    open.failures++;
    if (open.failures < failuresBeforeRest) return;
    if (open.restingUntil === 0) this.#health.began(channel, open.provider);
    open.restingUntil = Date.now() + Math.max(restMs, (outcome.retryAfterSeconds ?? 0) * 1_000);
    // The first after the rest decides alone whether it rests again.
    open.failures = failuresBeforeRest - 1;
  }
}

const nothing = () => {};
const unheard: Health = { began: nothing, gotThrough: nothing };

function nameOf(channel: PlannedChannel, index: number): string {
  return `${channel.organizationId}/${channel.id}/${index}`;
}

const fingerprints = new WeakMap<PlannedProvider, string>();

function fingerprintOf(planned: PlannedProvider): string {
  let text = fingerprints.get(planned);
  if (text === undefined) {
    text = canonicalJson({ use: planned.provider.name, settings: planned.settings });
    fingerprints.set(planned, text);
  }
  return text;
}
