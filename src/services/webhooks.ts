/** Operational webhooks: endpoints that an organization has told of what happens, and what they were told. */
import { toWebhookEntry } from '../core/configuration/export.ts';
import { parseDuration } from '../core/durations.ts';
import { mergeEntry, refuseChanges, slugAdvice } from '../core/entries.ts';
import { AppError, invalid } from '../core/errors.ts';
import { generateWebhookSecret, testType, type WebhookEntry } from '../core/webhooks.ts';
import type { Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import * as messages from '../db/webhook-messages.ts';
import * as rows from '../db/webhooks.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { type Check, change, createdBy, putEntry, requirePlace } from './entries.ts';
import { openWebhookSecrets, sealWebhookSecrets } from './webhook-secrets.ts';

export type { WebhookMessage, WebhookMessageStatus } from '../db/webhook-messages.ts';
export type { Webhook } from '../db/webhooks.ts';

/** Longer than this, receivers are not changing over but keeping two. */
const longestOverlapMs = 30 * 86_400_000;

export async function listWebhooks({ db }: Deps, organizationId: number, page: PageRequest) {
  return rows.listWebhooks(db, organizationId, page);
}

/** Undefined when there is none of that slug. */
export async function findWebhook({ db }: Deps, organizationId: number, slug: string) {
  return rows.findWebhook(db, organizationId, slug);
}

export async function getWebhook({ db }: Pick<Deps, 'db'>, organizationId: number, slug: string) {
  return read(db, organizationId, slug);
}

/** The secret is told this once; one that is not given is made. */
export async function createWebhook(
  deps: Deps,
  slugs: Slugs,
  { secret = generateWebhookSecret(), ...entry }: WebhookEntry,
): Promise<{ webhook: rows.Webhook; secret: string }> {
  return change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    createdBy(await putEntry(deps, trx, slugs, 'webhooks', { ...entry, secret } as WebhookEntry), 'slug', entry);
    return { webhook: await read(trx, organization.id, entry.slug), secret };
  });
}

export type WebhookChanges = { [field in keyof WebhookEntry]?: WebhookEntry[field] | null } & { slug?: unknown };

export async function updateWebhook(
  deps: Deps,
  slugs: Slugs,
  slug: string,
  changes: WebhookChanges,
  check: Check<rows.Webhook>,
): Promise<rows.Webhook> {
  return change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    const current = await read(trx, organization.id, slug);
    check(current);
    refuseChanges(current, changes, { slug: slugAdvice });
    await putEntry(deps, trx, slugs, 'webhooks', mergeEntry(toWebhookEntry(current), changes) as WebhookEntry);
    return read(trx, organization.id, slug);
  });
}

/** What waits for it is not sent. */
export async function deleteWebhook(
  deps: Deps,
  slugs: Slugs,
  slug: string,
  dryRun: boolean,
  check: Check<rows.Webhook>,
): Promise<{ deleted: Record<string, number>; dry_run?: true }> {
  return change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    const current = await read(trx, organization.id, slug);
    check(current);
    const deleted = { webhooks: 1 };
    if (dryRun) return { deleted, dry_run: true };
    await rows.deleteWebhook(trx, organization.id, current.id);
    const before = toWebhookEntry(current);
    await record(deps, trx, organization.id, { action: 'delete', noun: 'webhook', path: slug, before });
    return { deleted };
  });
}

/** A new secret, told this once. Until the overlap is over, the one before it signs too. */
export async function rotateWebhookSecret(
  deps: Deps,
  organizationId: number,
  slug: string,
  overlap: string,
  now: number,
): Promise<{ secret: string; previous_expires_at: Date }> {
  const overlapMs = parseDuration(overlap);
  if (overlapMs === undefined || overlapMs > longestOverlapMs) {
    throw invalid({ overlap: ['must be a duration such as 90s, 10m, 24h or 7d, of 30 days at most'] });
  }
  const secret = generateWebhookSecret();
  const previousUntil = new Date(now + overlapMs);
  await deps.db.transaction().execute(async trx => {
    const { id } = await read(trx, organizationId, slug);
    const stored = await rows.findWebhookSecrets(trx, organizationId, id);
    if (!stored) throw gone();
    const { secret: previous } = openWebhookSecrets(deps.cipher, organizationId, { slug, ...stored });
    const sealed = sealWebhookSecrets(deps.cipher, organizationId, slug, { secret, previous });
    await rows.setWebhookSecrets(trx, organizationId, id, sealed, previousUntil);
    const after = { previous_expires_at: previousUntil.toISOString() };
    await record(deps, trx, organizationId, { action: 'rotate', noun: 'webhook', path: slug, after });
  });
  return { secret, previous_expires_at: previousUntil };
}

/** After Belfry has disabled it. What waited for it is sent. */
export async function enableWebhook(deps: Deps, organizationId: number, slug: string): Promise<rows.Webhook> {
  return deps.db.transaction().execute(async trx => {
    const current = await read(trx, organizationId, slug);
    if (current.disabled_at) {
      await rows.enableWebhook(trx, organizationId, current.id);
      const before = { disabled_reason: current.disabled_reason, disabled_at: current.disabled_at.toISOString() };
      await record(deps, trx, organizationId, { action: 'enable', noun: 'webhook', path: slug, before });
    }
    return read(trx, organizationId, slug);
  });
}

/** By the operator: it is told of every organization, or of its own alone again. */
export async function setInstanceWide(
  deps: Deps,
  organizationId: number,
  slug: string,
  isWide: boolean,
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    const { id, instance_wide } = await read(trx, organizationId, slug);
    if (instance_wide === isWide) return;
    await rows.setInstanceWide(trx, organizationId, id, isWide);
    const change = { before: { instance_wide }, after: { instance_wide: isWide } };
    await record(deps, trx, organizationId, { action: 'update', noun: 'webhook', path: slug, ...change });
  });
}

export async function listInstanceWebhooks({ db }: Deps): Promise<rows.InstanceWebhook[]> {
  return rows.listInstanceWebhooksAcrossTenants(db);
}

/** Nothing has got through for too long, or the endpoint said that it is gone. */
export async function disableWebhook(
  deps: Pick<Deps, 'db' | 'actor'>,
  organizationId: number,
  id: number,
  reason: 'failing' | 'gone',
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    const disabled = await rows.disableWebhook(trx, organizationId, id, reason);
    if (!disabled) return;
    const after = { disabled_reason: reason };
    await record(deps, trx, organizationId, { action: 'disable', noun: 'webhook', path: disabled.slug, after });
  });
}

export async function listWebhookMessages(
  { db }: Deps,
  organizationId: number,
  webhookId: number,
  status: messages.WebhookMessageStatus | undefined,
  page: PageRequest,
) {
  return messages.listWebhookMessages(db, organizationId, webhookId, status, page);
}

export async function findWebhookMessage({ db }: Deps, organizationId: number, webhookId: number, id: number) {
  return messages.findWebhookMessage(db, organizationId, webhookId, id);
}

/** One message that tells of nothing, sent the way of all others. */
export async function testWebhook(deps: Deps, organizationId: number, slug: string): Promise<messages.WebhookMessage> {
  return deps.db.transaction().execute(async trx => {
    const webhook = requireActive(await read(trx, organizationId, slug));
    const data = { webhook: slug };
    const id = await messages.addWebhookMessage(trx, organizationId, webhook.id, testType, data);
    await record(deps, trx, organizationId, { action: 'test', noun: 'webhook', path: slug });
    return (await messages.findWebhookMessage(trx, organizationId, webhook.id, id))!;
  });
}

/** Under the same id: a receiver that has it can tell. */
export async function resendWebhookMessage(
  deps: Deps,
  organizationId: number,
  slug: string,
  id: number,
): Promise<messages.WebhookMessage> {
  return deps.db.transaction().execute(async trx => {
    const webhook = requireActive(await read(trx, organizationId, slug));
    if (!(await messages.resendWebhookMessage(trx, organizationId, webhook.id, id))) {
      throw new AppError('webhook.sending', 'the message is being sent at this moment: look again in a minute');
    }
    const after = { message: id };
    await record(deps, trx, organizationId, { action: 'resend', noun: 'webhook', path: slug, after });
    return (await messages.findWebhookMessage(trx, organizationId, webhook.id, id))!;
  });
}

function requireActive(webhook: rows.Webhook): rows.Webhook {
  if (webhook.enabled && !webhook.disabled_at) return webhook;
  throw new AppError('webhook.inactive', 'nothing is sent to this webhook while it is off: enable it first');
}

async function read(db: Db, organizationId: number, slug: string): Promise<rows.Webhook> {
  const row = await rows.findWebhook(db, organizationId, slug);
  if (!row) throw gone();
  return row;
}

function gone(): AppError {
  return new AppError('webhook.not_found', 'the webhook has been deleted meanwhile');
}
