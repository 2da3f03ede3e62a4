import { Type } from 'typebox';
import { absenceStates } from '../../core/decision/explain.ts';
import { type DeliveryState, deliveryStates } from '../../core/history/states.ts';
import { explain } from '../../services/history/why.ts';
import { endpoints } from '../server/route.ts';
import { nullable, nullableText } from '../server/schemas.ts';
import { showDelivery } from './deliveries.ts';
import { Delivery } from './schemas-occurrences.ts';

const { plain } = endpoints('Occurrences');

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
    final: Type.Boolean({ description: 'False while recipients are still being looked up: the answers may change.' }),
    summary: Type.String({ description: 'What became of the occurrence, in a sentence or two.' }),
    deliveries: Type.Array(Type.Omit(Delivery, [])),
    answers: Type.Array(
      Type.Object({
        notification: nullable(Type.String(), 'Name; null when the answer is about all notifications.'),
        channel: nullableText,
        state: Type.Enum([...new Set([...(Object.keys(deliveryStates) as DeliveryState[]), ...absenceStates])], {
          description:
            'State of the delivery. Without one: `held`, `scheduled`, `expanding` or `escalating` if it may still be sent, else `none`.',
        }),
        outcome: Type.String({ description: 'Status of the delivery, or `none` when there is no delivery.' }),
        reason: nullable(Type.String(), 'A stable code.'),
        explanation: Type.String({ description: 'A sentence that can be forwarded to the user.' }),
      }),
    ),
  },
  { $id: 'Why' },
);

export const explainOccurrence = plain(['org', 'identifier'], {
  id: 'explainOccurrence',
  summary: 'Explain occurrence',
  description:
    'Explains which messages this user received and why, or why there were none. Where there is no delivery, the decision ' +
    'is made again with the current event and user.',
  query: Type.Object({
    user: Type.String({ minLength: 1, maxLength: 512, description: 'Username, or any address of the user.' }),
  }),
  answer: Why,
  handle: async ({ deps, organization, occurrence, query }) => {
    const { deliveries, ...rest } = await explain(deps, organization.id, occurrence.identifier, query.user);
    return { ...rest, deliveries: deliveries.map(showDelivery) };
  },
});
