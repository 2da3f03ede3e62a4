/** An endpoint of an organization: a real HTTP server that verifies what it gets with the library that receivers use. */
import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { eventually } from './api.ts';
import { type HttpPeer, openHttpPeer } from './http-peer.ts';
import type { Tenant } from './sink.ts';

export interface Told {
  id: string;
  type: string;
  timestamp: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was told, for tests to look into
  data: any;
}

export interface Receiver {
  peer: HttpPeer;
  slug: string;
  path: string;
  secret: string;
  /** What has come so far; each is verified. */
  told(secret?: string): Told[];
  /** Waits until so many of a type have come. */
  until(type: string, count: number, withinMs?: number): Promise<Told[]>;
  /** What waits for another attempt is due now. */
  hurry(): Promise<void>;
  close(): Promise<void>;
}

let count = 0;

/** Subscribes over the API. */
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
    told: (secret = self.secret) =>
      peer.seen.map(({ body, headers }) => {
        const content = new Webhook(secret).verify(body, headers as Record<string, string>) as Omit<Told, 'id'>;
        return { id: String(headers['webhook-id']), ...content };
      }),
    until: (type, wanted, withinMs = 10_000) =>
      eventually(async () => {
        const found = self.told().filter(one => one.type === type);
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
