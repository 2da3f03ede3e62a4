import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { pickFields } from '../../core/configuration/nouns/noun.ts';
import { webhook as noun } from '../../core/configuration/nouns/webhook.ts';
import { messageIdOf, withSummary } from '../../core/configuration/webhooks.ts';
import * as queries from '../../db/configuration/webhooks.ts';
import * as messageQueries from '../../db/history/webhook-messages.ts';
import { currentTime } from '../../lib/time/clock.ts';
import * as webhooks from '../../services/configuration/webhooks.ts';
import { badCursor, ordered, plain, slugsOf } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';
import { entryEndpoints } from './entry-endpoints.ts';

const tag = 'Webhooks';
const time = (description: string) => Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description });

const own = {
  ...responseFieldsOf(noun),
  enabled: Type.Boolean({
    description: 'Whether it is turned on. See `disabled_at` for webhooks that Belfry disabled.',
  }),
  instance_wide: Type.Boolean({
    description: 'Whether it receives the events of every organization. Set by the operator with `belfry webhook`.',
  }),
  disabled_at: time('When Belfry disabled it. Null: it is not disabled.'),
  disabled_reason: Type.Union([Type.Enum(['failing', 'gone']), Type.Null()], {
    description: 'failing: every attempt failed for five days. gone: it answered 410.',
  }),
  previous_secret_expires_at: time('Until then the previous secret signs as well.'),
  health: Type.Object({
    last_success_at: time('When it last accepted a message.'),
    last_failure_at: time('When an attempt last failed.'),
    last_failure: nullable(Type.String(), 'Status and beginning of that answer, or why there was none.'),
    failing_since: time('Since when all attempts have failed. Null: the last one succeeded.'),
  }),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
};
const Webhook = Type.Object(own, { $id: 'Webhook' });
const CreatedWebhook = Type.Object(
  { ...own, secret: Type.String({ description: 'Verifies the signature of messages. It cannot be retrieved again.' }) },
  { $id: 'CreatedWebhook' },
);
const ChangedWebhook = Type.Object(
  { ...own, secret: Type.Optional(Type.String({ description: 'The new secret, if `secret: null` requested one.' })) },
  { $id: 'ChangedWebhook' },
);

function show({ id, previous_until, disabled_at, created_at, updated_at, ...row }: webhooks.Webhook) {
  return {
    id,
    ...pickFields(noun, row),
    instance_wide: row.instance_wide,
    disabled_at: shown(disabled_at),
    disabled_reason: row.disabled_reason,
    previous_secret_expires_at:
      previous_until && previous_until.getTime() > currentTime() ? shown(previous_until) : null,
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

export const entry = entryEndpoints(['org'], 'webhook', {
  kind: webhooks.webhook,
  tag,
  at: 'webhooks',
  answer: Webhook,
  answers: { create: CreatedWebhook, update: ChangedWebhook },
  list: async ({ deps, organization }, page) => (await queries.listWebhooks(deps.db, organization.id, page)).map(show),
  create: call => webhooks.createWebhook(call.deps, slugsOf(call), call.body),
  update: (call, id, check) => webhooks.updateWebhook(call.deps, slugsOf(call), id, call.body, check),
  show: (_, { secret, ...webhook }: webhooks.Webhook & { secret?: string }) => ({
    ...show(webhook),
    ...(secret && { secret }),
  }),
  // Fields that change without an edit are left out.
  tagOf: webhook => pickFields(noun, webhook),
  descriptions: {
    create:
      'Receives messages of the selected types from now on, signed according to Standard Webhooks. The secret is in this ' +
      'response and cannot be retrieved again.',
    update:
      'A new `url` requires a `secret`: the stored one is not used for another destination. A new secret replaces the stored ' +
      'one at once (rotate it to keep both for a while). Null generates one, which cannot be retrieved again.',
    delete: 'Waiting messages are not sent.',
  },
});

export const enableWebhook = plain(['org', 'webhook'], {
  id: 'enableWebhook',
  summary: 'Enable webhook',
  description: 'Enables a webhook that Belfry disabled. Waiting messages are sent.',
  tag,
  status: 200,
  answer: Webhook,
  handle: async ({ deps, organization, webhook }) =>
    show(await webhooks.enableWebhook(deps, organization.id, webhook.slug)),
});

const RotateSecret = Type.Object(
  {
    overlap: Type.Optional(
      Type.String({
        maxLength: 20,
        description: 'How long the previous secret signs as well, such as 24h; 0s: not at all. Absent: 24h.',
      }),
    ),
  },
  { $id: 'RotateWebhookSecret', additionalProperties: false },
);

export const rotateWebhookSecret = plain(['org', 'webhook'], {
  id: 'rotateWebhookSecret',
  summary: 'Rotate webhook secret',
  description:
    'Returns a new secret, which cannot be retrieved again. During the overlap every message has two signatures, so that ' +
    'the receiver can switch at any time.',
  tag,
  status: 201,
  body: RotateSecret,
  answer: Type.Object({ secret: Type.String(), previous_secret_expires_at: Type.String({ format: 'date-time' }) }),
  handle: async ({ deps, organization, webhook, body }) => {
    const { overlap = '24h' } = body;
    const now = currentTime();
    const made = await webhooks.rotateWebhookSecret(deps, organization.id, webhook.slug, overlap, now);
    return { secret: made.secret, previous_secret_expires_at: made.previous_expires_at.toISOString() };
  },
});

const WebhookMessage = Type.Object(
  {
    id: Type.Integer(),
    webhook_id: Type.String({ description: 'Header `webhook-id`, the same for every attempt.' }),
    type: Type.String(),
    status: Type.Enum(['waiting', 'sent', 'failed']),
    data: Type.Record(Type.String(), Type.Unknown(), { description: 'The payload, without links.' }),
    attempts: Type.Array(
      Type.Object({
        at: Type.String({ format: 'date-time' }),
        ms: Type.Integer(),
        ok: Type.Boolean(),
        answer: Type.String({ description: 'Status and beginning of the answer, or why there was none.' }),
      }),
      { description: 'The last 20 attempts, oldest first.' },
    ),
    next_attempt_at: time('When it is attempted next. Null: never, or it is being sent.'),
    created_at: Type.String({ format: 'date-time' }),
    sent_at: time('When the endpoint accepted it.'),
  },
  { $id: 'WebhookMessage' },
);

function showMessage({ id, key, type, status, data, log, is_sending, ...row }: webhooks.WebhookMessage) {
  return {
    id,
    webhook_id: messageIdOf(key),
    type,
    status,
    data: withSummary(type, data),
    // The times are stored in JSON by the database, in another format than the API's.
    attempts: log.map(attempt => ({ ...attempt, at: new Date(attempt.at).toISOString() })),
    next_attempt_at: status === 'waiting' && !is_sending ? row.due_at.toISOString() : null,
    created_at: row.created_at.toISOString(),
    sent_at: shown(row.sent_at),
  };
}

const MessagesQuery = Type.Object({
  status: Type.Optional(Type.Enum(['waiting', 'sent', 'failed'], { description: 'Only messages with this status.' })),
});

export const listWebhookMessages = ordered(['org', 'webhook'], {
  id: 'listWebhookMessages',
  readsReplica: true,
  summary: 'List webhook messages',
  description:
    'Newest first. Messages are kept for 30 days, or for the retention of the organization if that is shorter.',
  tag,
  query: MessagesQuery,
  item: WebhookMessage,
  list: async ({ deps, organization, webhook, query }, { after, limit }) => {
    if (!/^\d{0,15}$/.test(after)) throw badCursor();
    const page = { after: Number(after), limit };
    const found = await messageQueries.listWebhookMessages(deps.db, organization.id, webhook.id, query.status, page);
    return found.map(row => ({ ...showMessage(row), cursor: String(row.id) }));
  },
});

export const retrieveWebhookMessage = plain(['org', 'webhook', 'hook_message'], {
  id: 'retrieveWebhookMessage',
  summary: 'Retrieve webhook message',
  tag,
  status: 200,
  answer: WebhookMessage,
  handle: ({ hookMessage }) => showMessage(hookMessage),
});

export const resendWebhookMessage = plain(['org', 'webhook', 'hook_message'], {
  id: 'resendWebhookMessage',
  summary: 'Resend webhook message',
  description: 'Sends it again with the same `webhook-id`, whatever its status.',
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
  description: 'Sends a message of type `webhook.test`. Retrieve the message to see the outcome.',
  tag,
  status: 201,
  problems: [409],
  answer: WebhookMessage,
  handle: async ({ deps, organization, webhook }) =>
    showMessage(await webhooks.testWebhook(deps, organization.id, webhook.slug)),
});
