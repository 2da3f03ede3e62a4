import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { channel } from '../../core/configuration/nouns/channel.ts';
import { type ChannelStateName, channelStates } from '../../core/history/states.ts';
import type { ObjectPath } from '../../core/identity/permissions.ts';
import { templateLimits } from '../../core/render/template/limits.ts';
import { fillText, limits } from '../../core/text/text.ts';
import * as channels from '../../services/configuration/channels.ts';
import { testChannel } from '../../services/configuration/try-out/test-sends.ts';
import { type Call, forOrganizationAndProject, list, plain, slugPathOf, slugsOf } from '../server/route.ts';
import { Channel, nullable, nullableText, nullableTimestamp, timestamp } from '../server/schemas.ts';
import { bodiesOf, entryEndpoints } from './entry-endpoints.ts';
import { pauseFields } from './pauses.ts';

const tag = 'Channels';

const ChannelDetails = Type.Object(
  {
    ...responseFieldsOf(channel),
    providers: Type.Array(
      Type.Unsafe<{ use: string; secrets_set: string[]; [setting: string]: unknown }>({
        type: 'object',
        properties: {
          use: { type: 'string', description: 'Name of the provider. Its settings are further fields of this object.' },
          secrets_set: {
            type: 'array',
            items: { type: 'string' },
            description:
              'Names of the stored secrets. Their values are never returned; an omitted secret is kept, null removes it.',
          },
        },
        required: ['use', 'secrets_set'],
        additionalProperties: true,
      }),
      { description: 'Tried in order.' },
    ),
    paused: Type.Boolean(),
    paused_reason: pauseFields.paused_reason,
    project: nullable(Type.String(), "Slug of the project. Null: the organization's own channel."),
    problem: nullable(Type.String(), 'Why it cannot send.'),
    states: Type.Array(Type.Enum(Object.keys(channelStates) as ChannelStateName[]), {
      description:
        'What the console shows: `enabled` or `disabled`, and what speaks against it. `failing`: no message was sent in the last ' +
        'hours, and some failed. Not part of the ETag.',
    }),
    limited_until: Type.Union(nullableTimestamp.anyOf, {
      description:
        'When the next day begins, if all providers have reached their limit of the day; else null. Not part of the ETag.',
    }),
    health: Type.Object(
      { hours: Type.Integer(), sent: Type.Integer(), failed: Type.Integer(), unknown: Type.Integer() },
      { description: 'Outcomes of the last hours. Not part of the ETag.' },
    ),
    reputation: Type.Union(
      [
        Type.Object({
          hours: Type.Integer({ description: 'Length of the window.' }),
          messages: Type.Integer({ description: 'Messages sent in the window.' }),
          bounced: Type.Integer({ description: 'Messages reported as permanently bounced in the window.' }),
          complained: Type.Integer({ description: 'Messages reported as spam in the window.' }),
          bounce_percent: Type.Number(),
          complaint_percent: Type.Number(),
          since: nullable(timestamp, 'When bulk messages were last resumed: messages sent before do not count.'),
          bulk_paused_at: nullable(
            timestamp,
            'Since when the reputation guard holds bulk messages; null if it does not.',
          ),
          bulk_paused_reason: nullableText,
        }),
        Type.Null(),
      ],
      { description: 'Bounces and complaints of an email channel; null for other types. Not part of the ETag.' },
    ),
    feedback: Type.Union(
      [
        Type.Object({
          addresses: Type.Array(
            Type.Object({
              service: Type.String({
                description: 'Name of the service; `mail`: bounce mails can be posted there as they are.',
              }),
              url: nullable(
                Type.String(),
                'Address to enter at the service. It is a secret: null without the permission channel:write.',
              ),
              ready: Type.Boolean({
                description: 'False: requests are refused, because the provider lacks the secret that verifies them.',
              }),
            }),
          ),
          mailboxes: Type.Array(
            Type.Object({
              mailbox: Type.String({ description: 'Folder, user and server.' }),
              checked_at: nullableTimestamp,
              failed_at: nullableTimestamp,
              error: nullable(
                Type.String(),
                'Why it could not be read the last time. Null: it was read, or not yet polled.',
              ),
            }),
            { description: 'Mailboxes that are read for bounce mails every minute.' },
          ),
          last_received_at: nullableTimestamp,
          last_refused_at: nullableTimestamp,
          last_refusal: nullable(Type.String(), 'Why the last refused request was.'),
        }),
        Type.Null(),
      ],
      {
        description:
          'Where services report bounces, complaints and more; null if no provider supports it. Not part of the ETag.',
      },
    ),
    interactions: Type.Array(
      Type.Object({
        provider: Type.String({ description: 'Name of the provider.' }),
        url: nullable(
          Type.String(),
          'Address to enter at the service. It is a secret: null without the permission channel:write.',
        ),
        setup: Type.String({ description: 'Where to enter the address.' }),
        ready: Type.Boolean({
          description: 'False: requests are refused, because the provider lacks the secret that verifies them.',
        }),
      }),
      { description: 'Where services post pressed buttons and replies. Not part of the ETag.' },
    ),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'ChannelDetails' },
);

const ProviderKind = Type.Object(
  {
    name: Type.String({ description: 'The value of `use`.' }),
    medium: Type.String({ description: 'Type of the channels that can use it, or any.' }),
    title: Type.String({ description: 'Display name.' }),
    summary: Type.String(),
    settings: Type.Unsafe<object>({
      type: 'object',
      additionalProperties: true,
      description:
        'JSON Schema with titles and descriptions. Secrets are marked `secret: true`, and settings that decide where they ' +
        'are sent `destination: true`.',
    }),
  },
  { $id: 'ProviderKind' },
);

/** Leaves out what changes without an edit and must not make an If-Match fail. */
function withoutHealth({
  health: _,
  feedback: __,
  reputation: ___,
  interactions: ____,
  limited_until: _____,
  states: ______,
  ...channel
}: channels.ChannelDetails) {
  return channel;
}

/** Shows the addresses for services only to callers who may change the channel: reports sent there are believed. */
function show<Channel extends channels.ChannelDetails>(
  { link, caller, ...path }: Pick<Call, 'link' | 'caller'> & ObjectPath,
  { feedback, interactions, ...channel }: Channel,
) {
  const isShown = caller.grant.allows('channel:write', path);
  const withUrl = <Address extends { path: string }>({ path, ...one }: Address) => ({
    ...one,
    url: isShown ? link(path) : null,
  });
  return {
    ...channel,
    feedback: feedback && { ...feedback, addresses: feedback.addresses.map(withUrl) },
    interactions: interactions
      .map(withUrl)
      .map(one => ({ ...one, setup: fillText(one.setup, { url: one.url ?? '…' }) })),
  };
}

const ChannelTest = Type.Object(
  {
    to: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.address,
        description: 'Address to send to. Not needed if the provider posts to a fixed room.',
      }),
    ),
    subject: Type.Optional(Type.String({ maxLength: 2_000, description: 'A template.' })),
    body: Type.Optional(Type.String({ minLength: 1, maxLength: templateLimits.source, description: 'A template.' })),
    provider: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 9, description: 'Index of the provider. The first one is 0.' }),
    ),
  },
  { $id: 'ChannelTest', additionalProperties: false },
);

export const TestResult = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether the provider accepted the message.' }),
    provider: nullable(Type.String(), 'Name of the provider.'),
    reason: nullable(Type.String(), 'Why it was not accepted: a stable code.'),
    detail: nullable(Type.String(), "Status and text of the provider's answer, at most 200 characters."),
    message_id: nullable(Type.String(), "The provider's id of the message."),
    ms: Type.Integer({ description: 'Duration in milliseconds.' }),
  },
  { $id: 'TestResult' },
);

const bodies = bodiesOf('channel');

export const [ofOrganization, ofProject] = forOrganizationAndProject(owner =>
  entryEndpoints(
    ['org'],
    'channel',
    {
      kind: channels.channel,
      tag,
      at: 'c',
      bodies,
      answer: ChannelDetails,
      cascades: true,
      item: Channel,
      create: call => channels.createChannel(call.deps, slugsOf(call), call.body),
      retrieve: (call, id) => channels.getChannel(call.deps, call.organization.id, id),
      update: (call, id, check) =>
        channels.updateChannel(call.deps, slugsOf(call), call.organization.id, id, call.body, check),
      show,
      tagOf: withoutHealth,
      descriptions: {
        list:
          owner === 'Project'
            ? "The project's own channels. Its events can also use the organization's channels."
            : undefined,
        update:
          'Providers are replaced as a whole. An omitted secret is kept; null removes it. Provide the secrets again if a ' +
          'setting marked `destination` changes, such as `host` or `url`, or if it is ambiguous which of several providers ' +
          'was changed.',
        delete: 'Fails while a notification uses it. History is kept.',
      },
    },
    owner,
  ),
);

export const [testOrganizationChannel, testProjectChannel] = forOrganizationAndProject((owner, lower) =>
  plain(['org', 'channel'], {
    id: `test${owner}Channel`,
    summary: `Test ${lower} channel`,
    description: "Sends one real message now and returns the provider's answer. No delivery is stored.",
    tag,
    status: 200,
    body: ChannelTest,
    answer: TestResult,
    handle: call => {
      const channel = { id: call.channel.id, path: slugPathOf(call) };
      return testChannel(call.deps, call.organization, channel, call.body);
    },
  }),
);

export const listChannelDetails = list(['org'], {
  id: 'listChannelDetails',
  summary: 'List channels with details',
  description: 'The channels of the organization and of its projects, with all details.',
  tag,
  item: ChannelDetails,
  list: async (call, page) => {
    const rows = await channels.listChannelDetails(call.deps, call.organization.id, page);
    return rows.map(row => show(call, row));
  },
});

export const listProviders = plain(['org'], {
  id: 'listProviders',
  summary: 'List providers',
  description: 'The providers that channels can use, and their settings.',
  tag,
  status: 200,
  answer: Type.Array(ProviderKind),
  handle: ({ deps }) => channels.listProviders(deps),
});
