/**
 * What every provider does: open with settings once, then send. An expected failure is a value, sorted by the provider's
 * own rules into what is worth another try and what is not; a throw is a mistake in the program.
 */
import type { Content } from '../core/render/render.ts';
import type { Outbound } from '../lib/outbound.ts';

/** One message to one recipient by one channel. */
export interface Outgoing {
  /** The delivery's, the same at every attempt: becomes Message-ID, idempotency key or webhook id. */
  id: string;
  /** Whom: an email, a phone number, a chat id, a URL, a push subscription; empty where the settings say where. */
  address: string;
  content: Content;
  /** When the delivery was decided; the same at every attempt. */
  createdAt: Date;
  /** Of a mail that its recipient can unsubscribe from by one click (RFC 8058). */
  unsubscribeUrl?: string;
  /** Where the call stands in a trace, for receivers that go on with it. */
  traceparent?: string;
  /** For providers that can carry it: how messages are told apart in their own console. */
  tags: { organization: string; event: string; notification: string };
}

export type Outcome =
  | {
      ok: true;
      /** What the provider calls the message. */
      id?: string;
    }
  | {
      ok: false;
      /** Whether the same provider may be tried again. */
      retry: boolean;
      /** How long the provider asked us to wait. */
      retryAfterSeconds?: number;
      /** The message may have been accepted: the answer was lost after it was sent. */
      unknown?: boolean;
      /** This address will never work again: it is disabled or removed. */
      gone?: boolean;
      /** For people, with the provider's own words; never a secret. */
      reason: string;
    };

export interface Sender {
  send(outgoing: Outgoing): Promise<Outcome>;
  /** How many it can have under way at once, where that is few: others are written when it is their turn. */
  atOnce?: number;
  /** Lets connections go once what is under way has ended. */
  close(): Promise<void>;
}

/** What a provider may use of the outside world. */
export interface Tools {
  outbound: Outbound;
}

/** A sender without anything to let go of. */
export function stateless(send: Sender['send']): Sender {
  return { send, close: async () => {} };
}
