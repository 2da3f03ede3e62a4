import { Type } from 'typebox';
import { Message } from '../../core/configuration/nouns/notification.ts';
import { Override } from '../../core/configuration/nouns/parts/message-texts.ts';
import { digestLimits } from '../../core/decision/digest.ts';
import { onCallRecipients, stepLimits } from '../../core/decision/steps.ts';
import { expressionLimits } from '../../core/expressions/expressions.ts';
import { visibleUsers } from '../../core/identity/visible-users.ts';
import type { JsonObject } from '../../core/json.ts';
import { templateLimits } from '../../core/render/template/limits.ts';
import { limits } from '../../core/text/text.ts';
import { type Draft, previewDraft } from '../../services/configuration/try-out/preview.ts';
import { messageFields } from '../history/messages.ts';
import { plain } from '../server/route.ts';
import { nullable, nullableTimestamp, timestamp } from '../server/schemas.ts';

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
        Type.String({
          maxLength: limits.email,
          description:
            'Username of the recipient to render for. Absent: a recipient of the draft, otherwise the first user.',
        }),
      ),
      locale: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: limits.locale,
          description: "Language tag. Absent: the recipient's own.",
        }),
      ),
      channels: Type.Optional(
        Type.Array(Type.String({ maxLength: limits.slug }), {
          maxItems: 100,
          description: 'Slugs or types. Absent: those that the event uses, and one of each other type.',
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
            description: 'Renders a digest of these items and `more` further ones. Absent: a single message.',
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
                Type.Object(
                  { list: Type.Optional(Type.String({ maxLength: limits.name })), ...onCallRecipients },
                  { additionalProperties: false },
                ),
              ),
              repeat: Type.Optional(Type.Integer({ minimum: 1, maximum: stepLimits.repeat })),
            },
            { additionalProperties: false },
          ),
          { maxItems: stepLimits.steps, description: "Steps for the recipient's timeline." },
        ),
      ),
      list: Type.Optional(
        Type.String({ maxLength: limits.name, description: 'Name of the distribution list of recipients.' }),
      ),
      ...onCallRecipients,
      layout: Type.Optional(
        Type.String({
          maxLength: templateLimits.source,
          description: 'Body of a draft layout. Absent: the layout that the message names.',
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
      { description: 'Mistakes that prevent saving the draft.' },
    ),
    filter: Type.Union([
      Type.Object({ value: Type.Unknown(), matches: Type.Boolean({ description: 'Whether the value is true.' }) }),
      Mistake,
      Type.Null(),
    ]),
    users: Type.Union([
      Type.Object({
        matches: Type.Integer(),
        of: Type.Integer({ description: 'Number of users that were checked: at most the first 1000.' }),
      }),
      Mistake,
      Type.Null(),
    ]),
    user: Type.String({ description: 'Username of the recipient.' }),
    previews: Type.Array(
      Type.Object({
        channel: Type.String({ description: 'Slug of the channel, or the type if there is no such channel.' }),
        type: Type.String(),
        content: Type.Union([Type.Object(messageFields), Type.Null()]),
        missing: Type.Array(Type.String(), { description: 'Variables that were missing from the context.' }),
        problem: nullable(Type.String(), 'Why there is no content.'),
      }),
    ),
    warnings: Type.Array(Type.String(), { description: 'What would not work in this installation.' }),
    timeline: Type.Union(
      [
        Type.Array(
          Type.Object({
            number: Type.Integer({ description: 'Number of the run over all steps, starting at 1.' }),
            step: Type.Integer({ description: 'Number of the step, starting at 1.' }),
            at: timestamp,
            skip_reason: maybeReason('Why the user is not a recipient of it.'),
            deliveries: Type.Array(
              Type.Object({
                channel: Type.String({ description: 'Slug.' }),
                reason: maybeReason('Why it would be suppressed or held.'),
                due_at: nullableTimestamp,
              }),
            ),
          }),
        ),
        Type.Null(),
      ],
      {
        description:
          'When each run would start if no one acknowledged, and how it would reach the user. Null: there are no steps.',
      },
    ),
  },
  { $id: 'Preview' },
);

export const previewMessage = plain(['org', 'prj', 'app', 'evt'], {
  id: 'previewMessage',
  summary: 'Preview message',
  description:
    'Renders a draft for each channel. Nothing is stored or sent, and mistakes are part of the response. Real users are ' +
    'returned only with the permission `user:read`; a key that is limited to a project or application sees those on lists of ' +
    'the project.',
  tag: 'Notifications',
  status: 200,
  body: PreviewRequest,
  answer: Preview,
  handle: ({ deps, caller, body, organization, project, application, event }) =>
    previewDraft(
      deps,
      { organization, project, application, event },
      body,
      visibleUsers(caller.grant, { organization, project, application }),
    ),
});
