/** A webhook endpoint: an HTTP server that verifies messages with the library that receivers use. */
import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import { type HttpPeer, openHttpPeer } from './http-peer.ts';
import type { Tenant } from './sink.ts';

export interface ReceivedMessage {
  id: string;
  type: string;
  timestamp: string;
  // biome-ignore lint/suspicious/noExplicitAny: the payload, for tests to inspect
  data: any;
}

export interface Receiver {
  peer: HttpPeer;
  slug: string;
  path: string;
  secret: string;
  /** Verified messages received so far. */
  messages(secret?: string): ReceivedMessage[];
  /** Waits for this many messages of a type. */
  until(type: string, count: number, withinMs?: number): Promise<ReceivedMessage[]>;
  /** Makes messages that wait for a retry due now. */
  hurry(): Promise<void>;
  close(): Promise<void>;
}

let count = 0;

/** Creates the webhook through the API. */
export async function openReceiver(tenant: Tenant, types: string[], reply: HttpPeer['reply'] = {}): Promise<Receiver> {
  const peer = await openHttpPeer(reply);
  const slug = `ops-${++count}`;
  const body = { slug, name: 'Operations', url: `${peer.url}/ops`, types };
  const made = await tenant.post(`/api/o/${tenant.slug}/webhooks/`, body);
  expect(made.status, made.text).toBe(201);
  const self: Receiver = {
    peer,
    slug,
    path: `/api/o/${tenant.slug}/webhooks/${slug}/`,
    secret: made.body.secret,
    messages: (secret = self.secret) =>
      peer.seen.map(({ body, headers }) => {
        const content = new Webhook(secret).verify(body, headers as Record<string, string>) as Omit<
          ReceivedMessage,
          'id'
        >;
        return { id: String(headers['webhook-id']), ...content };
      }),
    until: (type, wanted, withinMs = 10_000) =>
      eventually(async () => {
        const found = self.messages().filter(one => one.type === type);
        expect(found).toHaveLength(wanted);
        return found;
      }, withinMs),
    hurry: async () => {
      await tenant.sql(`update webhook_messages set due_at = now() where status = 'waiting' and claimed_at is null`);
    },
    close: () => peer.close(),
  };
  return self;
}
