import { Type } from 'typebox';
import { NewOverride, overrideLimits, overrideStates } from '../../../core/oncall/overrides.ts';
import * as overrides from '../../../services/audience/on-call/overrides.ts';
import { asCreated } from '../../server/etag.ts';
import { apiPathOf, endpoints } from '../../server/route.ts';
import { nullable, nullableText, time } from '../../server/schemas.ts';

const { list, plain } = endpoints('On call');
const path = ['org', 'prj', 'schedule'] as const;

const Override = Type.Object(
  {
    id: Type.Integer(),
    state: Type.Enum([...overrideStates]),
    user: Type.String({ description: 'Username of the one who is on call instead.' }),
    replaces: nullable(Type.String(), 'Username of the one whose place is taken. Null: everyone.'),
    starts_at: time(),
    ends_at: time(),
    reason: nullableText,
    created_at: time(),
    created_by: Type.String({ description: 'The email of the account, or the API key.' }),
  },
  { $id: 'Override' },
);

export const listOverrides = list(path, {
  id: 'listOverrides',
  summary: 'List overrides of schedule',
  description: `Newest first. Those that are over are kept for ${overrideLimits.keptDays} days.`,
  query: Type.Object({ state: Type.Optional(Type.Enum([...overrideStates])) }),
  item: Override,
  list: ({ query, ...call }, page) => overrides.listOverrides(call.deps, call, query, page),
});

export const createOverride = plain(path, {
  id: 'createOverride',
  summary: 'Create override',
  description:
    'Someone takes, gives or covers a shift: `user` is on call from its start until its end, instead of `replaces` or of everyone. ' +
    'It beats all layers; of several that overlap, the one that was created last. ' +
    `At most ${overrideLimits.open} that are not over: 409 \`override.limit\`.`,
  status: 201,
  problems: [409],
  body: NewOverride,
  answer: Override,
  handle: async call => {
    const made = await overrides.createOverride(call.deps, call, call.body);
    const { schedule } = call;
    return asCreated(call, `${apiPathOf(call)}schedules/${schedule.slug}/overrides/${made.id}/`, made);
  },
});

export const retrieveOverride = plain([...path, 'override'], {
  id: 'retrieveOverride',
  summary: 'Retrieve override',
  answer: Override,
  handle: ({ override }) => overrides.showOverride(override),
});

export const endOverride = plain([...path, 'override'], {
  id: 'endOverride',
  summary: 'End override',
  description: 'Ends it now; one that has not begun is deleted. 409 `override.ended` if it is over.',
  problems: [409],
  answer: Type.Object({ deleted: Type.Integer() }, { $id: 'EndedOverride' }),
  handle: call => overrides.endOverrideEarly(call.deps, call, call.override),
});
