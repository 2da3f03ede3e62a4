/** Limits of an organization and their usage. */
import { Type } from 'typebox';
import { limitNames, maxLimits, type OrganizationLimits } from '../../core/configuration/limits.ts';
import { changeLimits, getLimits, type LimitsWithUsage } from '../../services/configuration/limits/limits.ts';
import { etagOf, ifMatch } from '../server/etag.ts';
import { type Call, plain } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';

const descriptions: Record<keyof OrganizationLimits, string> = {
  triggers_per_second: 'Triggers per second in each API process. Each started 16 KiB of a body counts as one.',
  deliveries_per_trigger: 'Maximum deliveries of a trigger. The rest is not sent, which is recorded in the occurrence.',
  users: 'Maximum users of the organization, whether or not anything is sent to them.',
  stored_messages: 'Maximum stored messages with a final status. At the limit, triggers are refused.',
  attachment_bytes:
    'Maximum bytes of stored attachments. Beyond it, uploads are refused and files with a URL are not fetched.',
};

const limit = (name: keyof OrganizationLimits) => nullable(Type.Integer(), `${descriptions[name]} Null: no limit.`);

/** Not a union, which would report each mistake once per branch. */
const change = (name: keyof OrganizationLimits) =>
  Type.Optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: maxLimits[name],
      description: `${descriptions[name]} Null: no limit.`,
    }),
  );

const Limits = Type.Object(
  {
    triggers_per_second: limit('triggers_per_second'),
    deliveries_per_trigger: limit('deliveries_per_trigger'),
    users: limit('users'),
    stored_messages: limit('stored_messages'),
    attachment_bytes: limit('attachment_bytes'),
    used: Type.Object({
      users: Type.Integer(),
      stored_messages: Type.Integer(),
      attachment_bytes: Type.Integer(),
    }),
  },
  { $id: 'Limits' },
);

const LimitChanges = Type.Object(
  {
    triggers_per_second: change('triggers_per_second'),
    deliveries_per_trigger: change('deliveries_per_trigger'),
    users: change('users'),
    stored_messages: change('stored_messages'),
    attachment_bytes: change('attachment_bytes'),
  },
  { $id: 'LimitChanges', additionalProperties: false },
);

/** Leaves out the usage, which changes all the time, from the ETag. */
function etagSourceOf(limits: OrganizationLimits) {
  return Object.fromEntries(limitNames.map(name => [name, limits[name]]));
}

function answer(call: Call, limits: LimitsWithUsage): LimitsWithUsage {
  call.reply.header('etag', etagOf(etagSourceOf(limits)));
  return limits;
}

export const retrieveLimits = plain(['org'], {
  id: 'retrieveLimits',
  summary: 'Retrieve limits',
  description: 'Returns the limits of the organization and its current usage.',
  tag: 'Organizations',
  status: 200,
  answer: Limits,
  handle: async call => answer(call, await getLimits(call.deps, call.organization.id)),
});

export const updateLimits = plain(['org'], {
  id: 'updateLimits',
  summary: 'Update limits',
  description: 'Absent limits are unchanged. Only admin accounts have this permission.',
  tag: 'Organizations',
  status: 200,
  body: LimitChanges,
  answer: Limits,
  handle: async call => {
    const match = ifMatch(call);
    const { deps, organization, body } = call;
    return answer(call, await changeLimits(deps, organization, body, current => match(etagSourceOf(current))));
  },
});
