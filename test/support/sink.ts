/**
 * Tenants for tests of the engine. Each test declares its own tenant, triggers over HTTP, and checks what arrives at a
 * server on loopback. `checkLedger` must pass at any time. All tests of a file share a service. Files that change nothing
 * but their own tenants, and look at nothing else, share it with each other.
 */
import { expect } from 'vitest';
import type { Service } from '../../src/app.ts';
import type { DeliveryView } from '../../src/db/history/delivery-list.ts';
import type { Occurrence } from '../../src/db/history/occurrences.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Answer, type Ask, asker } from './api.ts';
import { testService } from './database.ts';
import { eventually } from './eventually.ts';
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from './http-peer.ts';
import { findMistakes } from './sink-ledger.ts';
import { runSql } from './sql.ts';

export const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';

type Fields = Record<string, unknown>;

export interface TenantInput {
  /** Emails, or users with more fields. */
  users?: (string | ({ email: string } & Fields))[];
  /** Members of the list `All`. Default: all users. */
  members?: string[];
  /** Lists besides `All`, by name. */
  lists?: Record<string, string[]>;
  schedules?: object[];
  /** Channels of the organization. Default: one webhook channel `hooks` to the sink. */
  channels?: Fields[];
  /** Channels of the project. */
  projectChannels?: Fields[];
  /** More fields of the organization, and of the event `go`. */
  organization?: Fields;
  event?: Fields;
  /** Notifications of the event `go`; list, channel and message have defaults. */
  notifications?: Fields[];
}

export interface Received {
  id: string;
  /** Email of the recipient. */
  to: string;
  text: string;
  at: number;
}

export interface Tenant {
  slug: string;
  id: number;
  /** Id of the key that it triggers with. */
  keyId: string;
  ask: Ask;
  /** Path of the project's only application, and of its event `go`. */
  application: string;
  event: string;
  apply(input: TenantInput, prune?: boolean): Promise<void>;
  /** Returns the id of the occurrence. */
  trigger(options?: Fields, context?: Fields): Promise<string>;
  occurrence(id: string): Promise<Occurrence>;
  deliveries(id: string): Promise<DeliveryView[]>;
  /** Waits until the occurrence is completed; returns `status` or `status: reason` by recipient, sorted. */
  outcomes(id: string, withinMs?: number): Promise<string[]>;
  /** Waits until every delivery has one of these statuses. */
  until(id: string, ...statuses: string[]): Promise<DeliveryView[]>;
  post(path: string, body?: unknown): Promise<Answer>;
  /** Messages that the sink has received for this tenant. */
  received(): Received[];
  /** Sets how the sink answers this tenant. */
  answer(reply: Reply | ((seen: RecordedRequest, nth: number) => Reply)): void;
  /** Makes deliveries that wait for a retry due now. */
  hurry(): Promise<void>;
  /** Lets this time pass for deliveries that wait for a retry, as if it were later. */
  passTime(ms: number): Promise<void>;
  /** Returns the tenant's statistics, summed by status. */
  stats(): Promise<Record<string, number>>;
  sql<Row extends Fields = Fields>(text: string, ...values: unknown[]): Promise<Row[]>;
}

export interface EngineWorld {
  service: Service;
  peer: HttpPeer;
  tenant(input?: TenantInput): Promise<Tenant>;
  /** Checks the invariants of the ledger for the tenants of this world: see sink-ledger.ts. */
  checkLedger(): Promise<void>;
  close(): Promise<void>;
}

/** `env` has settings for the service. With a role other than `all`, the test starts the other processes. */
export async function openWorld(env: Record<string, string> = {}): Promise<EngineWorld> {
  const service = await testService(env);
  return createWorld(service, false);
}

/** Services of this process by their settings. They run until it ends: each start takes a second of CPU time. */
const shared = new Map<string, Promise<Service>>();

/** Like `openWorld`, with a service that other files use too. */
export async function joinWorld(env: Record<string, string> = {}): Promise<EngineWorld> {
  const settings = JSON.stringify(env);
  const service = shared.get(settings) ?? testService(env);
  shared.set(settings, service);
  return createWorld(await service, true);
}

const park = `update deliveries set due_at = 'infinity' where organization_id = any($1) and status in ('pending', 'retrying')`;

/** The number of tenants so far, whose slugs differ for all files. */
let count = 0;

async function createWorld(service: Service, isShared: boolean): Promise<EngineWorld> {
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
  const own = new Set<number>();
  const replayed = new Set<number>();

  async function tenant(input: TenantInput = {}): Promise<Tenant> {
    const slug = `t${++count}`;
    const hook = `${peer.url}/${slug}/hook`;
    const apply: Tenant['apply'] = async (change, prune = false) => {
      await applyConfiguration(deps, toDocument(slug, hook, change), { prune });
    };
    await apply(input);
    const { id: keyId, key } = await createKey(deps, slug, { name: 'test', permissions: ['*'] });
    const [{ id }] = (await runSql<{ id: number }>(url, 'select id::int from organizations where slug = $1', [
      slug,
    ])) as [{ id: number }];
    own.add(id);
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
      keyId,
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
      async outcomes(identifier, withinMs = 20_000) {
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
        }, 20_000),
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
      passTime: async ms => {
        await self.sql(
          `update deliveries set due_at = due_at - $1 * interval '1 ms', retry_since = retry_since - $1 * interval '1 ms'
           where status = 'retrying' and organization_id = ${id}`,
          ms,
        );
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
    checkLedger: async () => expect(await findMistakes(url, { own, replayed })).toEqual([]),
    async close() {
      // What waits for a retry is not to disturb the next file.
      if (isShared) await runSql(url, park, [[...own]]);
      else await service.stop();
      await peer.close();
    },
  };
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
            ...(input.schedules && { schedules: input.schedules }),
            applications: [
              { slug: 'web', name: 'Web', events: [{ slug: 'go', name: 'Go', ...input.event, notifications }] },
            ],
          },
        ],
      },
    ],
  };
}
