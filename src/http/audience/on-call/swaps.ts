import { Type } from 'typebox';
import { NewSwap, SwapAcceptance, swapLimits, swapStates } from '../../../core/oncall/swaps.ts';
import { listSwaps as listRows } from '../../../db/audience/on-call/swaps.ts';
import * as swaps from '../../../services/audience/on-call/swaps.ts';
import { asCreated } from '../../server/etag.ts';
import { apiPathOf, endpoints } from '../../server/route.ts';
import { nullable, nullableText, time } from '../../server/schemas.ts';

const { list, plain } = endpoints('On call');
const path = ['org', 'prj', 'schedule'] as const;

const Swap = Type.Object(
  {
    id: Type.Integer(),
    state: Type.Enum([...swapStates], { description: 'expired: no one had accepted when the shift began.' }),
    user: Type.String({ description: 'Username of the one who asks.' }),
    accepted_by: nullable(Type.String(), 'Username of the one who has taken the shift.'),
    starts_at: time(),
    ends_at: time(),
    message: nullableText,
    created_at: time(),
    created_by: Type.String({ description: 'The email of the account, or the API key.' }),
  },
  { $id: 'Swap' },
);

export const listSwaps = list(path, {
  id: 'listSwaps',
  summary: 'List swaps of schedule',
  description: `Newest first. They are kept for ${swapLimits.keptDays} days after their shift.`,
  item: Swap,
  list: ({ deps, organization, schedule }, page) => listRows(deps.db, organization.id, schedule.id, page),
});

export const createSwap = plain(path, {
  id: 'createSwap',
  summary: 'Ask for swap',
  description:
    'A user asks the others of the schedule to take a shift, by the event that the schedule names in `on_change`. The first who accepts ' +
    `gets it. At most ${swapLimits.open} that are open: 409 \`swap.limit\`.`,
  status: 201,
  problems: [409],
  body: NewSwap,
  answer: Swap,
  handle: async call => {
    const made = await swaps.createSwap(call.deps, call, call.body);
    return asCreated(call, `${apiPathOf(call)}schedules/${call.schedule.slug}/swaps/${made.id}/`, made);
  },
});

export const retrieveSwap = plain([...path, 'swap'], {
  id: 'retrieveSwap',
  summary: 'Retrieve swap',
  answer: Swap,
  handle: ({ swap }) => swap,
});

export const acceptSwap = plain([...path, 'swap'], {
  id: 'acceptSwap',
  summary: 'Accept swap',
  description:
    'Creates an override: `user` is on call instead of the one who asks. 409 `swap.taken` if someone else has accepted already, ' +
    '`swap.ended` if it was withdrawn or has expired.',
  problems: [409],
  body: SwapAcceptance,
  answer: Swap,
  handle: call => swaps.acceptSwap(call.deps, call, call.swap, call.body.user),
});

export const withdrawSwap = plain([...path, 'swap'], {
  id: 'withdrawSwap',
  summary: 'Withdraw swap',
  description: '409 `swap.taken` or `swap.ended` if it is not open.',
  problems: [409],
  answer: Type.Object({ withdrawn: Type.Integer() }, { $id: 'WithdrawnSwap' }),
  handle: call => swaps.withdrawSwap(call.deps, call, call.swap),
});
