import { Type } from 'typebox';
import { heartbeatLimits } from '../../../core/heartbeats/rhythm.ts';
import { callKinds, heartbeatReasons, shownStates } from '../../../core/heartbeats/state.ts';
import { timeOfUuid } from '../../../core/ids.ts';
import { listCalls } from '../../../db/history/heartbeats/calls.ts';
import { gone } from '../../../services/configuration/entries.ts';
import * as heartbeats from '../../../services/configuration/heartbeats.ts';
import { addressedEndpoints } from '../../configuration/entry-endpoints.ts';
import { history, list, plain } from '../../server/route.ts';
import { nullable, time } from '../../server/schemas.ts';

const tag = 'Heartbeats';

const address = {
  token: Type.String({ description: 'The secret part of the address.' }),
  url: Type.String({
    description:
      'What the job calls when it has succeeded, with GET, POST or HEAD. Add /start when it begins, /fail or its exit status when it ends, ' +
      'and /log for a message.',
  }),
};
const HeartbeatAddress = Type.Object(address, { $id: 'HeartbeatAddress' });

const urlPath = (token: string) => `/ping/${token}`;

export const { entry, rotate: rotateHeartbeatToken } = addressedEndpoints({
  kind: heartbeats.heartbeat,
  tag,
  ...address,
  urlPath,
  create: heartbeats.createHeartbeat,
  update: heartbeats.updateHeartbeat,
  descriptions: {
    create:
      'It waits for its first call. From then on, a call that is missing triggers the event, and the next one resolves it.',
    update: 'A new token replaces the stored one at once; null generates one. A shorter interval counts from now.',
    delete: 'Callers get 404. What it has triggered is kept.',
  },
});

const status = {
  state: Type.Enum([...shownStates], {
    description:
      'new: not called yet. up: called in time. late: expected, and within the grace. down: missing or failed. paused: disabled.',
  }),
  reason: nullable(
    Type.Enum([...heartbeatReasons]),
    'Why it is down. unfinished: a run began, and did not end in time.',
  ),
  since: time('Since when it is new, up or down.'),
  last_ping_at: nullable(Type.String({ format: 'date-time' }), 'The last call that said how it went.'),
  started_at: nullable(Type.String({ format: 'date-time' }), 'When the run began that has not ended.'),
  expected_at: nullable(Type.String({ format: 'date-time' }), 'When the next call is expected.'),
  missing_at: nullable(Type.String({ format: 'date-time' }), 'When it is missing without another call.'),
  occurrence: nullable(Type.String({ format: 'uuid' }), 'What it has triggered and not resolved.'),
  error: nullable(Type.String(), 'Why its event could not be triggered.'),
};

export const listOrganizationHeartbeats = list(['org'], {
  id: 'listOrganizationHeartbeats',
  summary: 'List heartbeats of the organization',
  description: 'The heartbeats of all applications with their state.',
  tag,
  item: Type.Object(
    {
      id: Type.Integer(),
      project: Type.String({ description: 'Slug.' }),
      application: Type.String({ description: 'Slug.' }),
      slug: Type.String(),
      name: Type.String(),
      every: Type.String(),
      ...status,
    },
    { $id: 'OrganizationHeartbeat' },
  ),
  list: ({ deps, organization }, page) => heartbeats.listHeartbeats(deps, organization.id, { page }),
});

export const retrieveHeartbeatStatus = plain(['org', 'prj', 'app', 'heartbeat'], {
  id: 'retrieveHeartbeatStatus',
  summary: 'Retrieve status of heartbeat',
  tag,
  status: 200,
  answer: Type.Object(status, { $id: 'HeartbeatStatus' }),
  handle: async ({ deps, organization, heartbeat: { id } }) => {
    const [found] = await heartbeats.listHeartbeats(deps, organization.id, { id });
    if (!found) throw gone('heartbeat');
    return found;
  },
});

export const retrieveHeartbeatAddress = plain(['org', 'prj', 'app', 'heartbeat'], {
  id: 'retrieveHeartbeatAddress',
  summary: 'Retrieve address of heartbeat',
  tag,
  status: 200,
  answer: HeartbeatAddress,
  handle: ({ deps, organization, heartbeat, link }) => {
    const token = heartbeats.readHeartbeatToken(deps, organization.id, heartbeat);
    return { token, url: link(urlPath(token)) };
  },
});

export const listHeartbeatCalls = history(['org', 'prj', 'app', 'heartbeat'], {
  id: 'listHeartbeatCalls',
  summary: 'List calls of heartbeat',
  description: `Newest first. The last ${heartbeatLimits.keptCalls} are kept.`,
  tag,
  item: Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      at: time(),
      kind: Type.Enum([...callKinds]),
      exit_status: nullable(Type.Integer()),
      run_id: nullable(Type.String(), 'Given by the caller to tell runs apart.'),
      duration_ms: nullable(Type.Integer(), 'How long the run took, if it said when it began.'),
      method: Type.String(),
      user_agent: Type.String(),
      body: Type.String({ description: `At most the first ${heartbeatLimits.keptBytes} bytes.` }),
      bytes: Type.Integer({ description: 'Size of the whole body.' }),
    },
    { $id: 'HeartbeatCall' },
  ),
  list: async ({ deps, organization, heartbeat }, page) =>
    (await listCalls(deps.db, organization.id, heartbeat.id, page)).map(({ began, body, ...call }) => ({
      ...call,
      at: new Date(timeOfUuid(call.id)).toISOString(),
      duration_ms: began === null ? null : timeOfUuid(call.id) - timeOfUuid(began),
      body: body.toString('utf8'),
    })),
});
