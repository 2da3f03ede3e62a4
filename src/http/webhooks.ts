import { Type } from 'typebox';
import { changesOf, fieldsOf } from '../core/entries.ts';
import { messageIdOf, WebhookEntry, webhookTypes } from '../core/webhooks.ts';
import * as webhooks from '../services/webhooks.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { badCursor, list, ordered, placeOf, plain, slugsOf } from './route.ts';
import { Deleted, DeleteQuery } from './schemas.ts';

const tag = 'Webhooks';
const fields = ['name', 'url', 'types', 'enabled', 'secret'];
const time = (description: string) => Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description });

const NewWebhook = fieldsOf<WebhookEntry>('NewWebhook', WebhookEntry, ['slug', ...fields]);
const Changes = changesOf<webhooks.WebhookChanges>('WebhookChanges', WebhookEntry, fields, ['slug']);

const own = {
  slug: Type.String(),
  name: Type.String(),
  url: Type.String(),
  types: Type.Array(Type.Enum([...webhookTypes])),
  enabled: Type.Boolean({ description: 'Whether people have it on.' }),
  instance_wide: Type.Boolean({
    description: 'Whether it is told of every organization. The operator decides, with `belfry webhook`.',
  }),
  disabled_at: time('When Belfry disabled it; null where it did not.'),
  disabled_reason: Type.Union([Type.Enum(['failing', 'gone']), Type.Null()], {
    description: 'failing: nothing got through for five days. gone: it answered 410.',
  }),
  previous_secret_expires_at: time('Until then the secret before the current one signs too.'),
  health: Type.Object({
    last_success_at: time('When it last took a message.'),
    last_failure_at: time('When it last did not.'),
    last_failure: Type.Union([Type.String(), Type.Null()], {
      description: 'The status and the first words of that answer, or why there was none.',
    }),
    failing_since: time('Since when nothing has got through; null when the last attempt did.'),
  }),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
};
const Webhook = Type.Object(own, { $id: 'Webhook' });
const CreatedWebhook = Type.Object(
  { ...own, secret: Type.String({ description: 'Verifies what is received. It is in this answer and nowhere else.' }) },
  { $id: 'CreatedWebhook' },
);

function show({ id, previous_until, disabled_at, created_at, updated_at, ...row }: webhooks.Webhook) {
  const { slug, name, url, types, enabled, instance_wide, disabled_reason } = row;
  return {
    id,
    slug,
    name,
    url,
    types: types as (typeof webhookTypes)[number][],
    enabled,
    instance_wide,
    disabled_at: shown(disabled_at),
    disabled_reason,
    previous_secret_expires_at: previous_until && previous_until.getTime() > Date.now() ? shown(previous_until) : null,
    health: {
      last_success_at: shown(row.last_success_at),
      last_failure_at: shown(row.last_failure_at),
      last_failure: row.last_failure,
      failing_since: shown(row.failing_since),
    },
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}

function shown(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}

/** What changes by itself is no change: the tag leaves it out. */
function tagOf({ slug, name, url, types, enabled }: webhooks.Webhook) {
  return { slug, name, url, types, enabled };
}

export const listWebhooks = list(['org'], {
  id: 'listWebhooks',
  summary: 'List webhooks',
  tag,
  item: Webhook,
  list: async ({ deps, organization }, page) => (await webhooks.listWebhooks(deps, organization.id, page)).map(show),
});

export const createWebhook = plain(['org'], {
  id: 'createWebhook',
  summary: 'Create webhook',
  description:
    'Is told of the given types from now on, by requests signed as Standard Webhooks says. The secret is in this answer ' +
    'and nowhere else.',
  tag,
  status: 201,
  problems: [409],
  body: NewWebhook,
  answer: CreatedWebhook,
  handle: async call => {
    const { webhook, secret } = await webhooks.createWebhook(call.deps, slugsOf(call), call.body);
    const answer = { ...show(webhook), secret };
    return created(call, `${placeOf(call)}webhooks/${webhook.slug}/`, answer, tagOf(webhook));
  },
});

export const retrieveWebhook = plain(['org', 'webhook'], {
  id: 'retrieveWebhook',
  summary: 'Retrieve webhook',
  tag,
  status: 200,
  answer: Webhook,
  handle: async call => {
    const found = await webhooks.getWebhook(call.deps, call.organization.id, call.webhook.slug);
    return tagged(call, show(found), tagOf(found));
  },
});

export const patchWebhook = plain(['org', 'webhook'], {
  id: 'patchWebhook',
  summary: 'Change webhook',
  description: 'A secret that is given takes the place of the stored one at once; rotating keeps both for a while.',
  tag,
  status: 200,
  body: Changes,
  answer: Webhook,
  handle: async call => {
    const { deps, webhook, body } = call;
    const changed = await webhooks.updateWebhook(deps, slugsOf(call), webhook.slug, body, ifMatch(call, tagOf));
    return tagged(call, show(changed), tagOf(changed));
  },
});

export const deleteWebhook = plain(['org', 'webhook'], {
  id: 'deleteWebhook',
  summary: 'Delete webhook',
  description: 'What waits for it is not sent.',
  tag,
  status: 200,
  query: DeleteQuery,
  answer: Deleted,
  handle: call => {
    const { deps, webhook, query } = call;
    return webhooks.deleteWebhook(deps, slugsOf(call), webhook.slug, query.dry_run ?? false, ifMatch(call, tagOf));
  },
});

export const enableWebhook = plain(['org', 'webhook'], {
  id: 'enableWebhook',
  summary: 'Enable webhook',
  description: 'One that Belfry has disabled. What waited for it is sent.',
  tag,
  status: 200,
  answer: Webhook,
  handle: async ({ deps, organization, webhook }) =>
    show(await webhooks.enableWebhook(deps, organization.id, webhook.slug)),
});

const RotateSecret = Type.Object(
  {
    overlap: Type.Optional(
      Type.String({ maxLength: 20, description: 'How long the secret of before signs too, such as 24h. Absent: 24h.' }),
    ),
  },
  { $id: 'RotateWebhookSecret', additionalProperties: false },
);

export const rotateWebhookSecret = plain(['org', 'webhook'], {
  id: 'rotateWebhookSecret',
  summary: 'Rotate secret of webhook',
  description:
    'A new secret, which is in this answer and nowhere else. During the overlap every message carries two signatures, ' +
    'so that the receiver can change over at any time.',
  tag,
  status: 201,
  body: RotateSecret,
  answer: Type.Object({ secret: Type.String(), previous_secret_expires_at: Type.String({ format: 'date-time' }) }),
  handle: async ({ deps, organization, webhook, body }) => {
    const { overlap = '24h' } = body;
    const now = Date.now();
    const made = await webhooks.rotateWebhookSecret(deps, organization.id, webhook.slug, overlap, now);
    return { secret: made.secret, previous_secret_expires_at: made.previous_expires_at.toISOString() };
  },
});

const WebhookMessage = Type.Object(
  {
    id: Type.Integer(),
    webhook_id: Type.String({ description: 'The header `webhook-id`, the same for every attempt.' }),
    type: Type.String(),
    status: Type.Enum(['waiting', 'sent', 'failed']),
    data: Type.Record(Type.String(), Type.Unknown(), { description: 'What it tells, but for the links.' }),
    attempts: Type.Array(
      Type.Object({
        at: Type.String({ format: 'date-time' }),
        ms: Type.Integer(),
        ok: Type.Boolean(),
        answer: Type.String({ description: 'The status and the first words, or why there was no answer.' }),
      }),
      { description: 'The last twenty, the oldest first.' },
    ),
    next_attempt_at: time('When it is tried next; null when it is not, or is being sent.'),
    created_at: Type.String({ format: 'date-time' }),
    sent_at: time('When the endpoint took it.'),
  },
  { $id: 'WebhookMessage' },
);

function showMessage({ id, key, type, status, data, log, is_sending, ...row }: webhooks.WebhookMessage) {
  return {
    id,
    webhook_id: messageIdOf(key),
    type,
    status,
    data,
    // As the database wrote it, the time would look otherwise than every other.
    attempts: log.map(attempt => ({ ...attempt, at: new Date(attempt.at).toISOString() })),
    next_attempt_at: status === 'waiting' && !is_sending ? row.due_at.toISOString() : null,
    created_at: row.created_at.toISOString(),
    sent_at: shown(row.sent_at),
  };
}

const MessagesQuery = Type.Object({
  status: Type.Optional(Type.Enum(['waiting', 'sent', 'failed'], { description: 'Only these.' })),
});

export const listWebhookMessages = ordered(['org', 'webhook'], {
  id: 'listWebhookMessages',
  summary: 'List messages of webhook',
  description: 'The newest first. They are kept for 30 days, and no longer than the organization keeps its history.',
  tag,
  query: MessagesQuery,
  item: WebhookMessage,
  list: async ({ deps, organization, webhook, query }, { after, limit }) => {
    if (!/^\d{0,15}$/.test(after)) throw badCursor();
    const page = { after: Number(after), limit };
    const found = await webhooks.listWebhookMessages(deps, organization.id, webhook.id, query.status, page);
    return found.map(row => ({ ...showMessage(row), cursor: String(row.id) }));
  },
});

export const retrieveWebhookMessage = plain(['org', 'webhook', 'hook_message'], {
  id: 'retrieveWebhookMessage',
  summary: 'Retrieve message of webhook',
  tag,
  status: 200,
  answer: WebhookMessage,
  handle: ({ hookMessage }) => showMessage(hookMessage),
});

export const resendWebhookMessage = plain(['org', 'webhook', 'hook_message'], {
  id: 'resendWebhookMessage',
  summary: 'Resend message of webhook',
  description: 'Under the same `webhook-id`, whatever came of it before.',
  tag,
  status: 200,
  problems: [409],
  answer: WebhookMessage,
  handle: async ({ deps, organization, webhook, hookMessage }) =>
    showMessage(await webhooks.resendWebhookMessage(deps, organization.id, webhook.slug, hookMessage.id)),
});

export const testWebhook = plain(['org', 'webhook'], {
  id: 'testWebhook',
  summary: 'Test webhook',
  description: 'Sends a message of the type `webhook.test`; what comes of it stands with the message.',
  tag,
  status: 201,
  problems: [409],
  answer: WebhookMessage,
  handle: async ({ deps, organization, webhook }) =>
    showMessage(await webhooks.testWebhook(deps, organization.id, webhook.slug)),
});
