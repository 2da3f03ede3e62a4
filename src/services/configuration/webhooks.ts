/** Operational webhooks: endpoints that receive an organization's events, and the messages sent to them. */

import type { EntryOf } from '../../core/configuration/document.ts';
import type { ChangesOf } from '../../core/configuration/entries.ts';
import { toEntryFields } from '../../core/configuration/nouns/noun.ts';
import { webhook as noun } from '../../core/configuration/nouns/webhook.ts';
import { generateWebhookSecret, testType } from '../../core/configuration/webhooks.ts';
import { parseDuration } from '../../core/durations.ts';
import { AppError, invalid } from '../../core/errors.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import { setColumns } from '../../db/configuration/rows.ts';
import * as rows from '../../db/configuration/webhooks.ts';
import type { Db } from '../../db/connection/pool.ts';
import * as messages from '../../db/history/webhook-messages.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';
import { createEntry, gone, type Kind, type Precondition, updateEntry } from './entries.ts';
import { openWebhookSecrets, type SealedWebhook, sealWebhookSecrets } from './webhook-secrets.ts';

export type { Webhook } from '../../db/configuration/webhooks.ts';
export type { WebhookMessage } from '../../db/history/webhook-messages.ts';

/** Maximum overlap of a rotation, to prevent two secrets from being used permanently. */
const maxOverlapMs = 30 * 86_400_000;

/** When it is deleted, its waiting messages are not sent. */
export const webhook: Kind<'webhook', rows.Webhook> = {
  noun: 'webhook',
  read: async (db, { organization }, id) => {
    const row = await rows.findWebhook(db, organization.id, { id });
    if (!row) throw gone('webhook');
    return row;
  },
  toAudit: current => toEntryFields(noun, current),
};

/** Creates a webhook and returns its secret, which is generated if absent. It cannot be read again. */
export async function createWebhook(
  deps: Deps,
  slugs: Slugs,
  { secret = generateWebhookSecret(), ...entry }: EntryOf<'webhook'>,
): Promise<rows.Webhook & { secret: string }> {
  return { ...(await createEntry(deps, webhook, slugs, { ...entry, secret })), secret };
}

/** Returns the new secret if `secret: null` requested one. A new URL needs a secret: the stored one is not used for it. */
export async function updateWebhook(
  deps: Deps,
  slugs: Slugs,
  id: number,
  changes: ChangesOf<EntryOf<'webhook'>>,
  check: Precondition<rows.Webhook>,
): Promise<rows.Webhook & { secret?: string }> {
  const made = changes.secret === null ? { secret: generateWebhookSecret() } : {};
  return { ...(await updateEntry(deps, webhook, slugs, id, { ...changes, ...made }, check)), ...made };
}

/**
 * Returns a new secret, which cannot be read again. Until the overlap ends, the previous one signs as well; without an
 * overlap it is deleted at once, such as one that has leaked.
 */
export async function rotateWebhookSecret(
  deps: Deps,
  organizationId: number,
  slug: string,
  overlap: string,
  now: number,
): Promise<{ secret: string; previous_expires_at: Date }> {
  const overlapMs = overlap === '0s' ? 0 : parseDuration(overlap);
  if (overlapMs === undefined || overlapMs > maxOverlapMs) {
    throw invalid({ overlap: ['must be a duration such as 90s, 10m, 24h or 7d, and at most 30d, or 0s for none'] });
  }
  const secret = generateWebhookSecret();
  const previousUntil = new Date(now + overlapMs);
  await deps.db.transaction().execute(async trx => {
    const { id } = await read(trx, organizationId, slug);
    const stored = await rows.findWebhookSecrets(trx, organizationId, id);
    if (!stored) throw gone('webhook');
    // Without an overlap, the previous secret need not be readable.
    const secrets =
      overlapMs === 0 ? { secret } : { secret, previous: readSecret(deps, organizationId, { slug, ...stored }) };
    const sealed = sealWebhookSecrets(deps.cipher, organizationId, slug, secrets);
    await setColumns(trx, organizationId, 'webhook', id, { secrets: sealed, previous_until: previousUntil });
    const after = { previous_expires_at: previousUntil.toISOString() };
    await record(deps, trx, organizationId, { action: 'rotate', noun: 'webhook', path: slug, after });
  });
  return { secret, previous_expires_at: previousUntil };
}

/** Returns the current secret; explains what to do if it cannot be decrypted. */
function readSecret({ cipher }: Deps, organizationId: number, webhook: SealedWebhook): string {
  try {
    return openWebhookSecrets(cipher, organizationId, webhook).secret;
  } catch {
    throw invalid({ overlap: ['must be 0s, because the current secret cannot be decrypted'] });
  }
}

/** Enables a webhook that Belfry disabled. Waiting messages are sent. */
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

/** Sets whether a webhook receives the events of every organization or only its own. For the operator. */
export async function setInstanceWide(deps: Deps, organizationId: number, slug: string, isWide: boolean) {
  await deps.db.transaction().execute(async trx => {
    const { id, instance_wide } = await read(trx, organizationId, slug);
    if (instance_wide === isWide) return;
    await setColumns(trx, organizationId, 'webhook', id, { instance_wide: isWide });
    const change = { before: { instance_wide }, after: { instance_wide: isWide } };
    await record(deps, trx, organizationId, { action: 'update', noun: 'webhook', path: slug, ...change });
  });
}

export async function listInstanceWebhooks({ db }: Deps): Promise<rows.InstanceWebhook[]> {
  return rows.listInstanceWebhooksAcrossTenants(db);
}

/** Disables a webhook that has failed for too long or answered 410. */
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

/** Sends a test message through the regular queue. */
export async function testWebhook(deps: Deps, organizationId: number, slug: string): Promise<messages.WebhookMessage> {
  return deps.db.transaction().execute(async trx => {
    const webhook = requireActive(await read(trx, organizationId, slug));
    const data = { webhook: slug };
    const id = await messages.addWebhookMessage(trx, organizationId, webhook.id, testType, data);
    await record(deps, trx, organizationId, { action: 'test', noun: 'webhook', path: slug });
    return (await messages.findWebhookMessage(trx, organizationId, webhook.id, id))!;
  });
}

/** Sends a message again with the same id, so that the receiver can recognize a duplicate. */
export async function resendWebhookMessage(deps: Deps, organizationId: number, slug: string, id: number) {
  return deps.db.transaction().execute(async trx => {
    const webhook = requireActive(await read(trx, organizationId, slug));
    if (!(await messages.resendWebhookMessage(trx, organizationId, webhook.id, id))) {
      throw new AppError('webhook.sending', 'the message is being sent right now: try again in a minute');
    }
    const after = { message: id };
    await record(deps, trx, organizationId, { action: 'resend', noun: 'webhook', path: slug, after });
    return (await messages.findWebhookMessage(trx, organizationId, webhook.id, id))!;
  });
}

function requireActive(webhook: rows.Webhook): rows.Webhook {
  if (webhook.enabled && !webhook.disabled_at) return webhook;
  throw new AppError('webhook.inactive', 'this webhook is disabled: enable it first');
}

async function read(db: Db, organizationId: number, slug: string): Promise<rows.Webhook> {
  const row = await rows.findWebhook(db, organizationId, { slug });
  if (!row) throw gone('webhook');
  return row;
}
