/**
 * Tenants for tests of the engine: each test declares its own on a service that all tests of a file share, triggers over
 * HTTP, and sees what arrives at a real peer on loopback. `checkLedger` holds whatever has happened.
 */
import { expect } from 'vitest';
import type { Service } from '../../src/app.ts';
import type { DeliveryView } from '../../src/db/delivery-list.ts';
import type { Occurrence } from '../../src/db/occurrences.ts';
import { applyConfiguration } from '../../src/services/declarative.ts';
import { createKey } from '../../src/services/keys.ts';
import { type Answer, type Ask, asker, eventually } from './api.ts';
import { testService } from './database.ts';
import { type HttpPeer, openHttpPeer, type Reply, type Seen } from './http-peer.ts';
import { findMistakes } from './sink-ledger.ts';
import { runSql } from './sql.ts';

export const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';

type Fields = Record<string, unknown>;

export interface TenantInput {
  /** Emails, or users with more than that. */
  users?: (string | ({ email: string } & Fields))[];
  /** Members of the list `All`; absent: all users. */
  members?: string[];
  /** Lists besides `All`, by name. */
  lists?: Record<string, string[]>;
  /** Of the organization; absent: one webhook channel `hooks` into the sink. */
  channels?: Fields[];
  /** Of the project. */
  projectChannels?: Fields[];
  /** More fields of the organization, and of the event `go`. */
  organization?: Fields;
  event?: Fields;
  /** Notifications of the event `go`, filled up with list, channel and message. */
  notifications?: Fields[];
}

export interface Received {
  id: string;
  /** The email of whom it was for. */
  to: string;
  text: string;
  at: number;
}

export interface Tenant {
  slug: string;
  id: number;
  ask: Ask;
  /** Path of the project's only application, and of its event `go`. */
  application: string;
  event: string;
  apply(input: TenantInput, prune?: boolean): Promise<void>;
  /** Returns the identifier of the occurrence. */
  trigger(options?: Fields, context?: Fields): Promise<string>;
  occurrence(id: string): Promise<Occurrence>;
  deliveries(id: string): Promise<DeliveryView[]>;
  /** Once the occurrence is completed: recipient → status or `status: reason`, in the order of recipients. */
  outcomes(id: string, withinMs?: number): Promise<string[]>;
  /** As soon as every delivery has one of these statuses. */
  until(id: string, ...statuses: string[]): Promise<DeliveryView[]>;
  post(path: string, body?: unknown): Promise<Answer>;
  /** What came to the sink for this tenant so far. */
  received(): Received[];
  /** How the sink answers this tenant from now on. */
  answer(reply: Reply | ((seen: Seen, nth: number) => Reply)): void;
  /** Makes what waits for another attempt due at once. */
  hurry(): Promise<void>;
  /** What the statistics of the tenant add up to, by status. */
  stats(): Promise<Record<string, number>>;
  sql<Row extends Fields = Fields>(text: string, ...values: unknown[]): Promise<Row[]>;
}

export interface EngineWorld {
  service: Service;
  peer: HttpPeer;
  tenant(input?: TenantInput): Promise<Tenant>;
  /** Counts equal statuses, statistics add up, ends are marked: for every occurrence of every tenant. */
  checkLedger(): Promise<void>;
  close(): Promise<void>;
}

/** With settings for the service, such as a role: then whoever opens it starts the others. */
export async function openWorld(env: Record<string, string> = {}): Promise<EngineWorld> {
  const service = await testService(env);
  const arrivals: { path: string; received: Received }[] = [];
  const replies = new Map<string, Parameters<Tenant['answer']>[0]>();
  const peer = await openHttpPeer(seen => {
    const slug = seen.path.split('/')[1]!;
    const { title = '', text = '' } = JSON.parse(seen.body) as { title?: string; text?: string };
    const received = { id: String(seen.headers['webhook-id']), to: title, text, at: Date.now() };
    arrivals.push({ path: seen.path, received });
    const reply = replies.get(slug) ?? {};
    const nth = arrivals.filter(one => one.path === seen.path).length;
    return typeof reply === 'function' ? reply(seen, nth) : reply;
  });
  const { deps, url } = service.runtime;
  const replayed = new Set<number>();
  let count = 0;

  async function tenant(input: TenantInput = {}): Promise<Tenant> {
    const slug = `t${++count}`;
    const hook = `${peer.url}/${slug}/hook`;
    const apply: Tenant['apply'] = async (change, prune = false) => {
      await applyConfiguration(deps, toDocument(slug, hook, change), { prune });
    };
    await apply(input);
    const { key } = await createKey(deps, slug, { name: 'test', permissions: ['*'] });
    const [{ id }] = (await runSql<{ id: number }>(url, 'select id::int from organizations where slug = $1', [
      slug,
    ])) as [{ id: number }];
    const ask = asker(service.address, key);
    const application = `/api/o/${slug}/p/shop/a/web/`;
    const event = `${application}e/go/`;
    const get = async (path: string) => {
      const answer = await ask({ path });
      expect(answer.status, answer.text).toBe(200);
      return answer.body;
    };
    const self: Tenant = {
      slug,
      id,
      ask,
      application,
      event,
      apply,
      async trigger(options = {}, context = {}) {
        const answer = await ask({ method: 'POST', path: `${event}trigger/`, body: { options, context } });
        expect(answer.status, answer.text).toBe(201);
        return answer.body.occurrence;
      },
      occurrence: identifier => get(`/api/o/${slug}/occurrence/${identifier}/`),
      deliveries: identifier => get(`/api/o/${slug}/occurrence/${identifier}/deliveries/`),
      async outcomes(identifier, withinMs = 8_000) {
        await eventually(async () => {
          const occurrence = await self.occurrence(identifier);
          expect(occurrence).toMatchObject({ status: 'completed', counts: { pending: 0 } });
        }, withinMs);
        const deliveries = await self.deliveries(identifier);
        return deliveries
          .map(one => `${one.user} ${one.status}${one.reason && one.status !== one.reason ? `: ${one.reason}` : ''}`)
          .sort();
      },
      until: (identifier, ...statuses) =>
        eventually(async () => {
          const deliveries = await self.deliveries(identifier);
          expect(deliveries.length).toBeGreaterThan(0);
          for (const one of deliveries) expect(statuses).toContain(one.status);
          return deliveries;
        }, 8_000),
      async post(path, body) {
        if (path.endsWith('/replay/')) replayed.add(id);
        return ask({ method: 'POST', path, body });
      },
      received: () =>
        arrivals.filter(one => one.path.startsWith(`/${slug}/`)).map(one => ({ ...one.received, path: one.path })),
      answer: reply => void replies.set(slug, reply),
      hurry: async () => {
        await self.sql(`update deliveries set due_at = now() where status = 'retrying' and organization_id = ${id}`);
        await self.sql(`notify belfry_work`);
      },
      async stats() {
        const rows = await self.sql<{ status: string; count: number }>(
          'select status, sum(count)::int as count from delivery_stats where organization_id = $1 group by 1 order by 1',
          id,
        );
        return Object.fromEntries(rows.map(row => [row.status, row.count]));
      },
      sql: (text, ...values) => runSql(url, text, values),
    };
    return self;
  }

  return {
    service,
    peer,
    tenant,
    checkLedger: () => checkLedger(url, replayed),
    async close() {
      await service.stop();
      await peer.close();
    },
  };
}

async function checkLedger(url: string, replayed: ReadonlySet<number>): Promise<void> {
  expect(await findMistakes(url, replayed)).toEqual([]);
}

export function hooks(url: string, more: Fields = {}, provider: Fields = {}): Fields {
  return {
    slug: 'hooks',
    name: 'Hooks',
    type: 'webhook',
    providers: [{ use: 'standard-webhooks', url, secret, ...provider }],
    ...more,
  };
}

export const sandbox = { slug: 'sandbox', name: 'Sandbox', type: 'email', providers: [{ use: 'sandbox' }] };

function toDocument(slug: string, hook: string, input: TenantInput): unknown {
  const users = input.users?.map(user => (typeof user === 'string' ? { email: user } : user));
  const members = input.members ?? users?.map(user => user.email);
  const fill = (channel: Fields) =>
    channel.slug === 'hooks' && !channel.providers ? { ...hooks(hook), ...channel } : channel;
  const lists = Object.entries(input.lists ?? {}).map(([name, own]) => ({ name, members: own }));
  const notifications: Fields[] = (input.notifications ?? [{}]).map((notification, i) => ({
    name: `n${i + 1}`,
    recipients: { list: 'All' },
    ...(!notification.steps && { channels: ['hooks'] }),
    message: { subject: '{{ user.email }}', body: 'Hello {{ n }}' },
    ...notification,
  }));
  return {
    organizations: [
      {
        slug,
        name: slug,
        channels: (input.channels ?? [hooks(hook)]).map(fill),
        ...input.organization,
        ...(users && { users }),
        projects: [
          {
            slug: 'shop',
            name: 'Shop',
            ...(input.projectChannels && { channels: input.projectChannels.map(fill) }),
            ...(members && { distribution_lists: [{ name: 'All', members }, ...lists] }),
            applications: [
              { slug: 'web', name: 'Web', events: [{ slug: 'go', name: 'Go', ...input.event, notifications }] },
            ],
          },
        ],
      },
    ],
  };
}
