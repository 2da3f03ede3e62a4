import { Type } from 'typebox';
import { Matcher, NewSilence, Recurrence, silenceLimits, silenceTarget } from '../../../core/decision/silence-rules.ts';
import * as silences from '../../../services/history/silences/silences.ts';
import { asCreated } from '../../server/etag.ts';
import { apiPathOf, endpoints } from '../../server/route.ts';
import { nullable, nullableText, time } from '../../server/schemas.ts';

const { history, plain } = endpoints('Silences');

const states = ['active', 'planned', 'ended'] as const;

const silenceFields = {
  id: Type.String({ format: 'uuid' }),
  state: Type.Enum([...states], {
    description: 'A recurring silence is `active` from its first to its last day, also between its hours.',
  }),
  path: nullable(Type.String(), 'What it is limited to, such as `prj/app`. Null: the whole organization.'),
  matchers: Type.Array(Matcher, { description: 'All of them have to match.' }),
  reason: Type.String(),
  starts_at: time(),
  ends_at: time(),
  recurrence: nullable(Recurrence, 'The hours in which it applies. Null: all of the time.'),
  active_until: nullable(time(), 'Until when it applies without interruption. Null: it does not apply now.'),
  created_at: time(),
  created_by: Type.String({ description: 'The email of the account, or the API key.' }),
  ended_by: nullable(Type.String(), 'Who ended it early.'),
  counts: Type.Object(
    {
      held: Type.Integer({ description: 'They wait for its end.' }),
      suppressed: Type.Integer({
        description:
          'Some or all of their messages are never sent: they cannot be resolved, or were over before its end.',
      }),
      released: Type.Integer({ description: 'They went on after its end.' }),
      capped: Type.Boolean({ description: `Whether there may be more: counting stops at ${silenceLimits.counted}.` }),
    },
    { description: 'Occurrences that it silenced.' },
  ),
};

const Silence = Type.Object(silenceFields, { $id: 'Silence' });

export const listSilences = history(['org'], {
  id: 'listSilences',
  summary: 'List silences',
  description: `Newest first. Those that are over are kept for ${silenceLimits.keptDays} days.`,
  query: Type.Object({ state: Type.Optional(Type.Enum([...states])) }),
  item: Silence,
  list: ({ deps, organization, query }, { after, limit }) =>
    silences.listSilences(deps, organization.id, query, { before: after, limit }),
});

export const createSilence = plain(['org'], {
  id: 'createSilence',
  summary: 'Create silence',
  description:
    'What matches is not sent while it applies. An occurrence with a `dedup_key` waits for its end, and is sent then if it is ' +
    'still open; others are suppressed. Steps of escalations wait, too. ' +
    `At most ${silenceLimits.open} silences that are not over: 409 \`silence.limit\`.`,
  status: 201,
  problems: [409],
  body: NewSilence,
  answer: Silence,
  handle: async call => {
    const { deps, organization, body } = call;
    const silence = await silences.createSilence(deps, organization, body);
    return asCreated(call, `${apiPathOf({ organization })}silences/${silence.id}/`, silence);
  },
});

export const retrieveSilence = plain(['org', 'silence'], {
  id: 'retrieveSilence',
  summary: 'Retrieve silence',
  answer: Silence,
  handle: ({ deps, organization, silence }) => silences.getSilence(deps, organization.id, silence.id),
});

export const endSilence = plain(['org', 'silence'], {
  id: 'endSilence',
  summary: 'End silence',
  description:
    'Ends it now, also before it began. What it holds is sent at once, unless another silence matches. 409 `silence.ended` if it is over.',
  problems: [409],
  answer: Type.Object(
    { ...silenceFields, ended_now: Type.Integer({ description: 'Occurrences that go on now.' }) },
    { $id: 'EndedSilence' },
  ),
  handle: ({ deps, organization, silence }) => silences.endSilenceEarly(deps, organization.id, silence.id),
});

export const listSilencedOccurrences = history(['org', 'silence'], {
  id: 'listSilencedOccurrences',
  summary: 'List what a silence silenced',
  description: 'The occurrences that it held or suppressed, newest first.',
  item: Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
      event: nullable(Type.String(), 'prj/app/evt; null when it has been deleted.'),
      title: nullable(Type.String(), 'The title in its context.'),
      state: Type.Enum(['held', 'suppressed', 'released'], { description: 'See the counts of the silence.' }),
      silenced_at: time(),
      until: time('When it goes on, or went on.'),
    },
    { $id: 'SilencedOccurrence' },
  ),
  list: ({ deps, organization, silence }, { after, limit }) =>
    silences.listSilencedOccurrences(deps, organization.id, silence.id, { before: after, limit }),
});

export const previewSilence = plain(['org'], {
  id: 'previewSilence',
  summary: 'Preview silence',
  description:
    'Returns the open occurrences with a `dedup_key` that a silence would match now. Nothing is stored. ' +
    `The newest ${silences.previewLimits.examined} occurrences are examined.`,
  body: Type.Object(silenceTarget, { $id: 'SilencePreviewRequest', additionalProperties: false }),
  answer: Type.Object(
    {
      matched: Type.Integer(),
      complete: Type.Boolean({ description: 'Whether all occurrences were examined.' }),
      occurrences: Type.Array(
        Type.Object({ id: Type.String({ format: 'uuid' }), event: nullableText, title: nullableText }),
        { description: `The newest ${silences.previewLimits.shown}.` },
      ),
    },
    { $id: 'SilencePreview' },
  ),
  handle: ({ deps, organization, body }) => silences.previewSilence(deps, organization, body),
});
