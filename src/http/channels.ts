import { Type } from 'typebox';
import { ChannelEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import { templateLimits } from '../core/render/template-limits.ts';
import { limits } from '../core/text.ts';
import * as channels from '../services/channels.ts';
import { tryChannel } from '../services/trials.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { both, list, pathOf, placeOf, plain, slugsOf } from './route.ts';
import { CascadeQuery, Channel, Deleted, deletionOf, Paused, Resumed } from './schemas.ts';

const tag = 'Channels';
const maybeInteger = Type.Union([Type.Integer(), Type.Null()]);
const fields = ['name', 'enabled', 'on_unknown', 'rate_per_second', 'concurrency', 'providers'];

const NewChannel = fieldsOf<ChannelEntry>('NewChannel', ChannelEntry, ['slug', 'type', ...fields]);
const Changes = changesOf<channels.ChannelChanges>('ChannelChanges', ChannelEntry, fields, ['slug', 'type']);

const ChannelDetails = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    type: Type.String({ description: 'The medium.' }),
    enabled: Type.Boolean(),
    on_unknown: Type.Enum(['resend', 'hold']),
    rate_per_second: maybeInteger,
    concurrency: maybeInteger,
    providers: Type.Array(
      Type.Unsafe<{ use: string; secrets_set: string[]; [setting: string]: unknown }>({
        type: 'object',
        properties: {
          use: { type: 'string', description: 'The name of the provider; its own settings stand beside it.' },
          secrets_set: {
            type: 'array',
            items: { type: 'string' },
            description: 'Secret settings that are stored; they are never shown, stay when left out, and go when null.',
          },
        },
        required: ['use', 'secrets_set'],
        additionalProperties: true,
      }),
      { description: 'Tried in order.' },
    ),
    paused: Type.Boolean(),
    project: Type.Union([Type.String(), Type.Null()], { description: "Slug; null: the organization's own." }),
    problem: Type.Union([Type.String(), Type.Null()], { description: 'Why it cannot send.' }),
    health: Type.Object(
      { hours: Type.Integer(), sent: Type.Integer(), failed: Type.Integer(), unknown: Type.Integer() },
      { description: 'Messages of the last hours. Not part of the ETag.' },
    ),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'ChannelDetails' },
);

const ProviderKind = Type.Object(
  {
    name: Type.String({ description: 'As `use` has it.' }),
    medium: Type.String({ description: 'The type of channel that may use it, or any.' }),
    title: Type.String({ description: 'What people call it.' }),
    summary: Type.String(),
    settings: Type.Unsafe<object>({
      type: 'object',
      additionalProperties: true,
      description:
        'A JSON schema with titles and descriptions. What is secret is marked `secret: true`, and what decides where it ' +
        'goes `destination: true`.',
    }),
  },
  { $id: 'ProviderKind' },
);

/** Counts change by themselves, and must not stand in the way of a change. */
function ownOf({ health: _, ...channel }: channels.ChannelForm) {
  return channel;
}

const ChannelTest = Type.Object(
  {
    to: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.address, description: 'An address; not where a room is set.' }),
    ),
    subject: Type.Optional(Type.String({ maxLength: 2_000, description: 'A template.' })),
    body: Type.Optional(Type.String({ minLength: 1, maxLength: templateLimits.source, description: 'A template.' })),
    provider: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 9, description: 'Which of its providers; the first one is 0.' }),
    ),
  },
  { $id: 'ChannelTest', additionalProperties: false },
);

export const TestResult = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether the provider took it.' }),
    provider: Type.Union([Type.String(), Type.Null()], { description: 'Its name.' }),
    reason: Type.Union([Type.String(), Type.Null()], { description: 'Why not: a stable code.' }),
    detail: Type.Union([Type.String(), Type.Null()], {
      description: "The status and the provider's own words, 200 characters at most.",
    }),
    message_id: Type.Union([Type.String(), Type.Null()], { description: 'What the provider calls the message.' }),
    ms: Type.Integer({ description: 'How long it took.' }),
  },
  { $id: 'TestResult' },
);

export const [createOrganizationChannel, createProjectChannel] = both((owner, lower) =>
  plain(['org'], {
    id: `create${owner}Channel`,
    summary: `Create ${lower} channel`,
    tag,
    status: 201,
    problems: [409],
    body: NewChannel,
    answer: ChannelDetails,
    handle: async call => {
      const made = await channels.createChannel(call.deps, slugsOf(call), call.body);
      return created(call, `${placeOf(call)}c/${made.slug}/`, made, ownOf(made));
    },
  }),
);

export const [retrieveOrganizationChannel, retrieveProjectChannel] = both((owner, lower) =>
  plain(['org', 'channel'], {
    id: `retrieve${owner}Channel`,
    summary: `Retrieve ${lower} channel`,
    tag,
    status: 200,
    answer: ChannelDetails,
    handle: async call => {
      const channel = await channels.getChannel(call.deps, call.organization.id, call.channel.id);
      return tagged(call, channel, ownOf(channel));
    },
  }),
);

export const [patchOrganizationChannel, patchProjectChannel] = both((owner, lower) =>
  plain(['org', 'channel'], {
    id: `patch${owner}Channel`,
    summary: `Change ${lower} channel`,
    description:
      'Providers are replaced together; a secret that is left out stays as it is stored, and null removes it. When a ' +
      'setting marked `destination` changes, such as `host` or `url`, or where it cannot be told which of several ' +
      'entries is which, their secrets have to be given again.',
    tag,
    status: 200,
    body: Changes,
    answer: ChannelDetails,
    handle: async call => {
      const channel = await channels.updateChannel(call.deps, slugsOf(call), call.channel.id, call.body, ifMatch(call));
      return tagged(call, channel, ownOf(channel));
    },
  }),
);

export const [testOrganizationChannel, testProjectChannel] = both((owner, lower) =>
  plain(['org', 'channel'], {
    id: `test${owner}Channel`,
    summary: `Test ${lower} channel`,
    description: "Really sends one message now, and tells the provider's answer. Nothing is kept as a delivery.",
    tag,
    status: 200,
    body: ChannelTest,
    answer: TestResult,
    handle: call => {
      const channel = { id: call.channel.id, path: pathOf(call) };
      return tryChannel(call.deps, call.organization, channel, call.body);
    },
  }),
);

export const [deleteOrganizationChannel, deleteProjectChannel] = both((owner, lower) =>
  plain(['org', 'channel'], {
    id: `delete${owner}Channel`,
    summary: `Delete ${lower} channel`,
    description: 'Refused while a notification names it. History stays.',
    tag,
    status: 200,
    problems: [409],
    query: CascadeQuery,
    answer: Deleted,
    handle: call =>
      channels.deleteChannel(call.deps, slugsOf(call), call.channel.id, deletionOf(call.query), ifMatch(call)),
  }),
);

export const [pauseOrganizationChannel, pauseProjectChannel] = both((owner, lower) =>
  plain(['org', 'channel'], {
    id: `pause${owner}Channel`,
    summary: `Pause ${lower} channel`,
    description: 'Messages are kept until it is resumed; none is dropped.',
    tag,
    status: 200,
    answer: Paused,
    handle: async call => {
      await channels.pauseChannel(call.deps, call.organization.id, { id: call.channel.id, path: pathOf(call) });
      return { paused: true };
    },
  }),
);

export const [resumeOrganizationChannel, resumeProjectChannel] = both((owner, lower) =>
  plain(['org', 'channel'], {
    id: `resume${owner}Channel`,
    summary: `Resume ${lower} channel`,
    description: 'What was kept is sent.',
    tag,
    status: 200,
    answer: Resumed,
    handle: async call => ({
      paused: false,
      released: await channels.resumeChannel(call.deps, call.organization.id, {
        id: call.channel.id,
        path: pathOf(call),
      }),
    }),
  }),
);

export const listOrganizationChannels = list(['org'], {
  id: 'listOrganizationChannels',
  summary: 'List organization channels',
  tag,
  item: Channel,
  list: ({ deps, organization }, page) => channels.listChannels(deps, organization.id, null, page),
});

export const listProjectChannels = list(['org', 'prj'], {
  id: 'listProjectChannels',
  summary: 'List project channels',
  description: "The project's own channels. Its events may use the organization's too.",
  tag,
  item: Channel,
  list: ({ deps, organization, project }, page) => channels.listChannels(deps, organization.id, project.id, page),
});

export const listChannelDetails = list(['org'], {
  id: 'listChannelDetails',
  summary: 'List channels with details',
  description: 'Those of the organization and of its projects, each as it is retrieved by itself.',
  tag,
  item: ChannelDetails,
  list: ({ deps, organization }, page) => channels.listWholeChannels(deps, organization.id, page),
});

export const listProviders = plain(['org'], {
  id: 'listProviders',
  summary: 'List providers',
  description: 'What can stand behind a channel, and which settings it takes.',
  tag,
  status: 200,
  answer: Type.Array(ProviderKind),
  handle: ({ deps }) => channels.listProviders(deps),
});
