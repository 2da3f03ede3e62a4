import { Type } from 'typebox';
import * as escalations from '../../services/history/acknowledgements/escalations.ts';
import { endpoints } from '../server/route.ts';
import { nullable, nullableText, nullableTimestamp } from '../server/schemas.ts';
import { summarize } from './occurrences.ts';
import { OccurrenceSummary } from './schemas-occurrences.ts';

const { plain } = endpoints('Occurrences');

const Escalations = Type.Object(
  {
    escalations: Type.Array(
      Type.Object({
        occurrence: Type.Omit(OccurrenceSummary, []),
        steps: Type.Array(
          Type.Object({
            notification: nullableText,
            step: nullable(Type.Integer(), 'Number of the step that ran last; null before the first.'),
            is_running: Type.Boolean({ description: 'Whether that step is still being sent.' }),
            next_step: nullable(Type.Integer(), 'Number of the step that runs next; null after the last.'),
            next_at: nullableTimestamp,
          }),
          { description: 'One entry for each notification with steps.' },
        ),
        notified: Type.Array(Type.String(), {
          description: `Usernames of recipients to whom a step was sent, at most ${escalations.maxNotified}.`,
        }),
        notified_more: Type.Boolean({ description: 'Whether there are more.' }),
      }),
      { description: `Newest first, at most ${escalations.maxEscalations}.` },
    ),
    capped: Type.Boolean({ description: 'Whether there may be more.' }),
  },
  { $id: 'Escalations' },
);

export const listEscalations = plain(['org'], {
  id: 'listEscalations',
  summary: 'List escalations',
  description: 'Occurrences whose steps still run, or ended without an acknowledgement.',
  answer: Escalations,
  handle: async ({ deps, organization }) => {
    const { escalations: rows, capped } = await escalations.listEscalations(deps, organization.id);
    return {
      escalations: rows.map(({ row, ...rest }) => ({ ...rest, occurrence: summarize(row) })),
      capped,
    };
  },
});
