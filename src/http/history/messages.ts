import { Type } from 'typebox';
import { optionalInteger, optionalString } from '../../core/optional.ts';
import { viewMessage } from '../../services/history/messages.ts';
import { endpoints } from '../server/route.ts';

const { plain } = endpoints('Occurrences');

/** A message as a provider receives it. */
export const messageFields = {
  title: Type.String(),
  text: Type.String(),
  html: optionalString(),
  markup: optionalString(),
  card: Type.Optional(Type.Unknown()),
  data: Type.Optional(Type.Unknown()),
  segments: optionalInteger(),
  missing: Type.Array(Type.String(), { description: 'Variables that were missing in the context.' }),
};

const Message = Type.Object(messageFields, { $id: 'Message' });

export const retrieveMessage = plain(['org', 'identifier', 'delivery'], {
  id: 'retrieveMessage',
  summary: 'Retrieve message',
  description:
    'The message as this recipient received it, regardless of later changes: rendered again from the snapshot of the last ' +
    'attempt. If there was no attempt yet, it is rendered with the current templates. Messages of deleted users are not ' +
    'available. This is also how to view the messages of a `sandbox` channel.',
  answer: Message,
  handle: ({ deps, organization, occurrence, delivery }) =>
    viewMessage(deps, organization.id, occurrence.identifier, delivery.id),
});
