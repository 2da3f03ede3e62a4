import { Type } from 'typebox';
import { stopKinds } from '../../core/decision/guards/canary.ts';
import { holdStates } from '../../core/decision/guards/guard.ts';
import { variantNames, winnerKinds } from '../../core/decision/guards/variants.ts';
import { limits, singleLine } from '../../core/text/text.ts';
import * as holds from '../../services/history/holds.ts';
import { SimulatedDelivery } from '../configuration/events.ts';
import { endpoints } from '../server/route.ts';
import { nullable, nullableText, nullableTimestamp, time } from '../server/schemas.ts';

const { plain } = endpoints('Occurrences');

const Figures = Type.Object({
  notification: Type.String({ description: 'Name.' }),
  audience: Type.Integer({ description: 'Recipients of the notification, with the sample.' }),
  messages: Type.Integer({ description: 'Messages to the sample, without those that were suppressed or cancelled.' }),
  attempted: Type.Integer({ description: 'Messages with at least one attempt, of which the others are a part.' }),
  failed: Type.Integer({ description: 'Failed, with an unknown outcome, or retried after a failed attempt.' }),
  bounced: Type.Integer(),
  complained: Type.Integer({ description: 'Reported as spam.' }),
  stop_at: Type.Object(
    { failed: Type.Number(), bounced: Type.Number(), complained: Type.Number() },
    { description: 'Shares of the attempted messages, from 0 to 1, from which on it stops.' },
  ),
  stopped_by: Type.Optional(
    Type.Array(Type.Enum([...stopKinds, 'attempted']), {
      description: 'Why it stopped. `attempted`: too few messages were attempted. Absent: it did not.',
    }),
  ),
  winner_by: Type.Optional(
    Type.Enum([...winnerKinds], {
      description: 'What decided between two variants of the message. Absent: there is one.',
    }),
  ),
  variants: Type.Optional(
    Type.Array(
      Type.Object({
        variant: Type.Enum([...variantNames]),
        messages: Type.Integer(),
        attempted: Type.Integer(),
        clicks: Type.Integer({ description: 'Messages with a link that was clicked.' }),
        acknowledgements: Type.Integer({ description: 'Messages with an action that their recipient took.' }),
      }),
    ),
  ),
  winner: Type.Optional(Type.Enum([...variantNames], { description: 'The variant that the others get.' })),
});

const holdFields = {
  occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
  event: nullable(Type.String(), 'prj/app/evt; null when the event has been deleted.'),
  kind: Type.String({
    description: 'The guard that holds it: `audience`, or `canary`. There may be more in the future.',
  }),
  reason: Type.String({ description: 'A stable code, such as `guard.audience`.' }),
  state: Type.Enum([...holdStates], {
    description:
      '`waiting`: a sample got it, and the others wait for what becomes of that. `counting`: its recipients are being counted. `held`: someone has to approve or reject it. Both can be decided. ' +
      '`released`: the exact count needed no approval, or the sample went well. `ended`: the occurrence was cancelled, or expired on its own.',
  }),
  held_at: time(),
  expires_at: time(
    'When it fails, unless someone decides before. While it is `waiting`: when the sample was to be judged.',
  ),
  triggered_by: nullable(Type.String(), 'The API key, or the email of the account; null: the command line.'),
  threshold: Type.Integer({ description: 'Up to this many recipients need no approval.' }),
  largest: nullable(Type.Integer(), 'The largest audience of the event in the last 90 days; null: there was none.'),
  counted: Type.Boolean({ description: 'Whether the counts are complete.' }),
  recipients: Type.Integer({
    description: 'Recipients who would get a message. One who gets two notifications counts twice.',
  }),
  channels: Type.Array(
    Type.Object({
      channel: Type.String({ description: 'Slug.' }),
      messages: Type.Integer(),
      per_second: nullable(Type.Number(), "The channel's limit; null: there is none."),
      seconds: nullable(Type.Integer(), 'How long sending takes at this rate.'),
    }),
  ),
  left_out: Type.Array(
    Type.Object({
      reason: Type.String({ description: 'A stable code.' }),
      explanation: Type.String(),
      messages: Type.Integer(),
    }),
    { description: 'Messages that would not be sent, by reason.' },
  ),
  figures: nullable(
    Type.Array(Figures),
    'What became of the sample of a canary, by notification, when that was judged. Null: not yet, or no canary.',
  ),
  explanation: Type.Array(Type.String(), { description: 'The same in a sentence each.' }),
  decided_at: nullableTimestamp,
  decided_by: nullableText,
  note: nullable(Type.String(), 'Why it was rejected.'),
  per_second: nullable(Type.Integer(), 'The rate at which it was approved; null: as fast as possible.'),
};

const Hold = Type.Object(holdFields, { $id: 'Hold' });
const HoldDetails = Type.Object(
  {
    ...holdFields,
    samples: Type.Array(SimulatedDelivery, {
      description:
        'The messages of up to ten recipients, chosen at random, as they would be sent now. Empty without `user:read`.',
    }),
  },
  { $id: 'HoldDetails' },
);

export const listHolds = plain(['org'], {
  id: 'listHolds',
  summary: 'List holds',
  description: `Occurrences that wait for an approval, the first to expire first; at most ${holds.maxHolds}.`,
  query: Type.Object({
    decided: Type.Optional(
      Type.Boolean({ description: 'True: those that no longer wait instead, the latest decision first.' }),
    ),
  }),
  answer: Type.Array(Hold),
  handle: ({ deps, organization, query }) => holds.listHolds(deps, organization.id, !query.decided),
});

export const retrieveHold = plain(['org', 'identifier'], {
  id: 'retrieveHold',
  summary: 'Retrieve hold',
  description: 'Who would get what, if the occurrence is approved. 404 `hold.not_found` if it was never held.',
  answer: HoldDetails,
  handle: ({ deps, caller, organization, occurrence }) => {
    const seesUsers = caller.grant.allows('user:read', { organization });
    return holds.getHold(deps, organization.id, occurrence.identifier, seesUsers);
  },
});

export const approveHold = plain(['org', 'identifier'], {
  id: 'approveHold',
  summary: 'Approve occurrence',
  description:
    'Sends what the occurrence holds. Recipients are decided again: one who has opted out meanwhile gets nothing. 409 ' +
    '`hold.decided` if it no longer waits for an approval, 403 `hold.own` if the organization requires that someone else ' +
    'approves it.',
  problems: [409],
  body: Type.Object(
    {
      per_second: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 100_000,
          description: 'How many messages are due per second. Without it, all as fast as possible.',
        }),
      ),
    },
    { $id: 'Approval', additionalProperties: false },
  ),
  answer: Type.Omit(Hold, []),
  handle: ({ deps, organization, occurrence, body }) =>
    holds.approve(deps, organization.id, occurrence.identifier, { perSecond: body.per_second }),
});

export const rejectHold = plain(['org', 'identifier'], {
  id: 'rejectHold',
  summary: 'Reject occurrence',
  description: 'Ends the occurrence as cancelled. Nothing is sent.',
  problems: [409],
  body: Type.Object(
    {
      reason: Type.Optional(Type.String({ maxLength: limits.reason, ...singleLine, description: 'Why, in one line.' })),
    },
    { $id: 'Rejection', additionalProperties: false },
  ),
  answer: Type.Omit(Hold, []),
  handle: ({ deps, organization, occurrence, body }) =>
    holds.reject(deps, organization.id, occurrence.identifier, body.reason),
});
