/** Operational webhooks: endpoints of organizations that receive events of Belfry. */
import { sql } from 'kysely';
import { type WebhookFields, webhook } from '../../core/configuration/nouns/webhook.ts';
import type { PageRequest } from '../connection/page.ts';
import type { Db } from '../connection/pool.ts';

export interface Webhook extends WebhookFields {
  id: number;
  /** Receives the events of every organization; set by the operator. */
  instance_wide: boolean;
  disabled_at: Date | null;
  disabled_reason: 'failing' | 'gone' | null;
  previous_until: Date | null;
  created_at: Date;
  updated_at: Date;
  last_success_at: Date | null;
  last_failure_at: Date | null;
  last_failure: string | null;
  failing_since: Date | null;
}

const columns = Object.keys(webhook.fields)
  .filter(field => field !== 'types')
  .map(field => `w.${field}` as `w.${Exclude<keyof WebhookFields, 'types'>}`);

function select(db: Db, organizationId: number) {
  return db
    .selectFrom('webhooks as w')
    .innerJoin('webhook_states as s', join =>
      join.onRef('s.organization_id', '=', 'w.organization_id').onRef('s.webhook_id', '=', 'w.id'),
    )
    .select([
      'w.id',
      ...columns,
      sql<WebhookFields['types']>`w.types`.as('types'),
      'w.instance_wide',
      'w.disabled_at',
      sql<Webhook['disabled_reason']>`w.disabled_reason`.as('disabled_reason'),
      'w.previous_until',
      'w.created_at',
      'w.updated_at',
      's.last_success_at',
      's.last_failure_at',
      's.last_failure',
      's.failing_since',
    ])
    .where('w.organization_id', '=', organizationId);
}

export async function listWebhooks(db: Db, organizationId: number, page: PageRequest) {
  return select(db, organizationId).where('w.id', '>', page.after).orderBy('w.id').limit(page.limit).execute();
}

export async function findWebhook(db: Db, organizationId: number, by: { slug: string } | { id: number }) {
  return select(db, organizationId)
    .$if('slug' in by, query => query.where('w.slug', '=', (by as { slug: string }).slug))
    .$if('id' in by, query => query.where('w.id', '=', (by as { id: number }).id))
    .executeTakeFirst();
}

/** Adds the state of a new webhook, which changes with every message. */
export async function createWebhookState(db: Db, organizationId: number, id: number): Promise<void> {
  await db.insertInto('webhook_states').values({ organization_id: organizationId, webhook_id: id }).execute();
}

/** Returns the encrypted secrets after locking the row. */
export async function findWebhookSecrets(db: Db, organizationId: number, id: number) {
  return db
    .selectFrom('webhooks')
    .select('secrets')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Disables a webhook. Returns undefined if it was disabled already or does not exist. */
export async function disableWebhook(db: Db, organizationId: number, id: number, reason: 'failing' | 'gone') {
  return db
    .updateTable('webhooks')
    .set({ disabled_at: sql`now()`, disabled_reason: reason })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .returning('slug')
    .executeTakeFirst();
}

export interface InstanceWebhook {
  organization: string;
  slug: string;
  url: string;
  types: string[];
  active: boolean;
}

export async function listInstanceWebhooksAcrossTenants(db: Db) {
  return db
    .selectFrom('webhooks as w')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .select(['o.slug as organization', 'w.slug', 'w.url', 'w.types', 'w.active'])
    .where('w.instance_wide', '=', true)
    .orderBy('o.slug')
    .orderBy('w.slug')
    .execute();
}

/** Enables a webhook and restarts the period after which a failing one is disabled. */
export async function enableWebhook(db: Db, organizationId: number, id: number): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ disabled_at: null, disabled_reason: null })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute();
  await db
    .updateTable('webhook_states')
    .set({ failing_since: null })
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', id)
    .execute();
}

/** Counts the webhooks that Belfry disabled. */
export async function countDisabledWebhooks(db: Db, organizationId: number): Promise<number> {
  const { count } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('disabled_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return count;
}

export async function countWebhooksAcrossTenants(db: Db) {
  return db
    .selectFrom('webhooks')
    .select(({ fn }) => [fn.countAll<number>().as('all'), fn.count<number>('disabled_at').as('disabled')])
    .executeTakeFirstOrThrow();
}
