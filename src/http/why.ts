import { Type } from 'typebox';
import { explain } from '../services/why.ts';
import { showDelivery } from './deliveries.ts';
import { plain } from './route.ts';
import { maybeText } from './schemas.ts';
import { Delivery } from './schemas-occurrences.ts';

const Why = Type.Object(
  {
    user: Type.Union([
      Type.Object({
        username: Type.String(),
        email: Type.String(),
        first_name: Type.String(),
        last_name: Type.String(),
        locked: Type.Boolean(),
      }),
      Type.Null(),
    ]),
    final: Type.Boolean({ description: 'False while recipients are still being found: the answers may change.' }),
    deliveries: Type.Array(Type.Omit(Delivery, [])),
    answers: Type.Array(
      Type.Object({
        notification: Type.Union([Type.String(), Type.Null()], { description: 'Name; null: all of them.' }),
        channel: maybeText,
        outcome: Type.String({ description: "The delivery's status, or `none` where there is no delivery." }),
        reason: Type.Union([Type.String(), Type.Null()], { description: 'A stable code.' }),
        explanation: Type.String({ description: 'A sentence that can be sent on.' }),
      }),
    ),
  },
  { $id: 'Why' },
);

export const explainOccurrence = plain(['org', 'identifier'], {
  id: 'explainOccurrence',
  summary: 'Explain occurrence to a user',
  description:
    'Why this user got what they got, or got nothing. Where there is no delivery, the decision is made again with the ' +
    'event and the user as they are now.',
  tag: 'Occurrences',
  status: 200,
  query: Type.Object({
    user: Type.String({ minLength: 1, maxLength: 512, description: 'Username, or any address of the user.' }),
  }),
  answer: Why,
  handle: async ({ deps, organization, occurrence, query }) => {
    const { deliveries, ...rest } = await explain(deps, organization.id, occurrence.identifier, query.user);
    return { ...rest, deliveries: deliveries.map(showDelivery) };
  },
});
