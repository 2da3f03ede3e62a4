import { Type } from 'typebox';
import { Message, Override } from '../core/configuration/document.ts';
import { digestLimits } from '../core/digest.ts';
import { expressionLimits } from '../core/expressions.ts';
import type { JsonObject } from '../core/json.ts';
import { allows } from '../core/permissions.ts';
import { templateLimits } from '../core/render/template-limits.ts';
import { stepLimits } from '../core/steps.ts';
import { limits } from '../core/text.ts';
import { type Draft, previewDraft } from '../services/preview.ts';
import { messageFields } from './messages.ts';
import { plain } from './route.ts';
import { maybeMoment, moment } from './schemas.ts';

const Data = Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true, description: 'Free-form JSON.' });
const Expression = Type.String({ maxLength: expressionLimits.source, description: 'JMESPath. Empty: none.' });
const maybeReason = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const maybeInteger = Type.Union([Type.Integer(), Type.Null()]);

const PreviewRequest = Type.Unsafe<Draft>(
  Type.Object(
    {
      message: Message,
      overrides: Type.Optional(Type.Record(Type.String(), Override)),
      extra_context: Type.Optional(Data),
      context: Type.Optional(Data),
      filter: Type.Optional(Expression),
      users: Type.Optional(Expression),
      user: Type.Optional(
        Type.String({ maxLength: limits.email, description: 'Username of the reader. Absent: the first user.' }),
      ),
      locale: Type.Optional(
        Type.String({ minLength: 1, maxLength: limits.locale, description: 'Language tag. Absent: the reader’s own.' }),
      ),
      channels: Type.Optional(
        Type.Array(Type.String({ maxLength: limits.slug }), {
          maxItems: 100,
          description: 'Slugs or types. Absent: what the event uses, and one of each other kind there is.',
        }),
      ),
      digest: Type.Optional(
        Type.Object(
          {
            items: Type.Array(Data, { minItems: 1, maxItems: digestLimits.sampleItems, description: 'Contexts.' }),
            more: Type.Optional(Type.Integer({ minimum: 0, maximum: digestLimits.fullAt })),
          },
          {
            additionalProperties: false,
            description: 'As a digest of these items, and so many more. Absent: one message.',
          },
        ),
      ),
      steps: Type.Optional(
        Type.Array(
          Type.Object(
            {
              after: Type.Optional(Type.String({ maxLength: limits.slug })),
              channels: Type.Array(Type.String({ maxLength: limits.slug }), { maxItems: 100 }),
              recipients: Type.Optional(
                Type.Object({ list: Type.String({ maxLength: limits.name }) }, { additionalProperties: false }),
              ),
              repeat: Type.Optional(Type.Integer({ minimum: 1, maximum: stepLimits.repeat })),
            },
            { additionalProperties: false },
          ),
          { maxItems: stepLimits.steps, description: 'For the timeline of the reader.' },
        ),
      ),
      list: Type.Optional(Type.String({ maxLength: limits.name, description: 'Name of the list of recipients.' })),
      layout: Type.Optional(
        Type.String({
          maxLength: templateLimits.source,
          description: 'The body of a layout that is a draft itself. Absent: the one that the message names.',
        }),
      ),
    },
    { $id: 'PreviewRequest', additionalProperties: false },
  ),
);

const Mistake = Type.Object({ error: Type.String({ description: 'Why it cannot be evaluated.' }) });

const Preview = Type.Object(
  {
    errors: Type.Array(
      Type.Object({ field: Type.String(), line: maybeInteger, column: maybeInteger, message: Type.String() }),
      { description: 'What saving it would be refused for.' },
    ),
    filter: Type.Union([
      Type.Object({ value: Type.Unknown(), matches: Type.Boolean({ description: 'Whether the value is true.' }) }),
      Mistake,
      Type.Null(),
    ]),
    users: Type.Union([
      Type.Object({
        matches: Type.Integer(),
        of: Type.Integer({ description: 'How many users it was tried on: at most the first 1000.' }),
      }),
      Mistake,
      Type.Null(),
    ]),
    user: Type.String({ description: 'Username of the reader.' }),
    previews: Type.Array(
      Type.Object({
        channel: Type.String({ description: 'Slug; where there is no channel of the type, the type.' }),
        type: Type.String(),
        content: Type.Union([Type.Object(messageFields), Type.Null()]),
        missing: Type.Array(Type.String(), { description: 'Variables that the context did not have.' }),
        problem: Type.Union([Type.String(), Type.Null()], { description: 'Why there is no content.' }),
      }),
    ),
    timeline: Type.Union(
      [
        Type.Array(
          Type.Object({
            number: Type.Integer({ description: 'Of the run, from 1 on, over all steps.' }),
            step: Type.Integer({ description: 'From 1 on.' }),
            at: moment,
            left_out: maybeReason('Why the reader is none of its recipients.'),
            deliveries: Type.Array(
              Type.Object({
                channel: Type.String({ description: 'Slug.' }),
                reason: maybeReason('Why it would not be sent, or would wait.'),
                due_at: maybeMoment,
              }),
            ),
          }),
        ),
        Type.Null(),
      ],
      {
        description:
          'When each run would come if nobody answered, and how it would reach the reader; null without steps.',
      },
    ),
  },
  { $id: 'Preview' },
);

export const previewMessage = plain(['org', 'prj', 'app', 'evt'], {
  id: 'previewMessage',
  summary: 'Preview message',
  description:
    'A draft, written out for each channel. Nothing is stored or sent; mistakes are part of the answer. Real users are ' +
    'only told to whoever has `user:read` too.',
  tag: 'Notifications',
  status: 200,
  body: PreviewRequest,
  answer: Preview,
  handle: ({ deps, caller, body, organization, project, application, event }) =>
    previewDraft(deps, { organization, project, application, event }, body, allows(caller.permissions, 'user:read')),
});
