/** What an organization may take of the installation, and what it has taken. */
import { Type } from 'typebox';
import { largestLimit, limitNames, type OrganizationLimits } from '../core/limits.ts';
import { changeLimits, type DescribedLimits, describeLimits } from '../services/limits.ts';
import { etagOf, ifMatch } from './etag.ts';
import { type Call, plain } from './route.ts';

const words: Record<keyof OrganizationLimits, string> = {
  triggers_per_second: 'In each API process.',
  deliveries_per_trigger: 'What would be more is not sent, and the occurrence says so.',
  users: 'Of the organization, whether or not anything is sent to them.',
  stored_messages: 'That have come to an end and are kept. At the limit, triggers are refused.',
};

const limit = (name: keyof OrganizationLimits) =>
  Type.Union([Type.Integer(), Type.Null()], { description: `${words[name]} Null: no limit.` });

/** Without a union: its mistakes are told once. */
const change = (name: keyof OrganizationLimits) =>
  Type.Optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: largestLimit[name],
      description: `${words[name]} Null: no limit.`,
    }),
  );

const Limits = Type.Object(
  {
    triggers_per_second: limit('triggers_per_second'),
    deliveries_per_trigger: limit('deliveries_per_trigger'),
    users: limit('users'),
    stored_messages: limit('stored_messages'),
    used: Type.Object({ users: Type.Integer(), stored_messages: Type.Integer() }),
  },
  { $id: 'Limits' },
);

const LimitChanges = Type.Object(
  {
    triggers_per_second: change('triggers_per_second'),
    deliveries_per_trigger: change('deliveries_per_trigger'),
    users: change('users'),
    stored_messages: change('stored_messages'),
  },
  { $id: 'LimitChanges', additionalProperties: false },
);

/** What has been taken changes all the time: the tag leaves it out. */
function tagOf(limits: OrganizationLimits) {
  return Object.fromEntries(limitNames.map(name => [name, limits[name]]));
}

function answer(call: Call, limits: DescribedLimits): DescribedLimits {
  call.reply.header('etag', etagOf(tagOf(limits)));
  return limits;
}

export const retrieveLimits = plain(['org'], {
  id: 'retrieveLimits',
  summary: 'Retrieve limits',
  description: 'What the organization may take of the installation, and what it has taken.',
  tag: 'Organizations',
  status: 200,
  answer: Limits,
  handle: async call => answer(call, await describeLimits(call.deps, call.organization.id)),
});

export const patchLimits = plain(['org'], {
  id: 'patchLimits',
  summary: 'Change limits',
  description: 'What is absent stays as it is. Only admin accounts have the permission.',
  tag: 'Organizations',
  status: 200,
  body: LimitChanges,
  answer: Limits,
  handle: async call => {
    const match = ifMatch(call);
    const { deps, organization, body } = call;
    return answer(call, await changeLimits(deps, organization, body, current => match(tagOf(current))));
  },
});
