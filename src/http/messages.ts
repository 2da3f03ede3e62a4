import { Type } from 'typebox';
import { viewMessage } from '../services/messages.ts';
import { plain } from './route.ts';

/** A message as a provider gets it. */
export const messageFields = {
  title: Type.String(),
  text: Type.String(),
  html: Type.Optional(Type.String()),
  markup: Type.Optional(Type.String()),
  card: Type.Optional(Type.Unknown()),
  data: Type.Optional(Type.Unknown()),
  segments: Type.Optional(Type.Integer()),
  missing: Type.Array(Type.String(), { description: 'Variables that the context did not have.' }),
};

const Message = Type.Object(messageFields, { $id: 'Message' });

export const retrieveMessage = plain(['org', 'identifier', 'delivery'], {
  id: 'retrieveMessage',
  summary: 'Retrieve message',
  description:
    'As this recipient got it, whatever has been changed or deleted since: written again from what the last attempt ' +
    'was written with. What has not been tried yet is shown as it would be written now. A deleted user takes their ' +
    'messages along. The only way to see what a `sandbox` channel did not send.',
  tag: 'Occurrences',
  status: 200,
  answer: Message,
  handle: ({ deps, organization, occurrence, delivery }) =>
    viewMessage(deps, organization.id, occurrence.identifier, delivery.id),
});
