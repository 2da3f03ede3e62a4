import { Type } from 'typebox';
import { updateStates } from '../../../core/sources/updates/update.ts';
import {
  listOccurrenceSourceUpdates as listOccurrenceUpdates,
  listUpdatesOfSource,
  type SourceUpdateRow,
} from '../../../db/history/sources/updates.ts';
import { endpoints } from '../../server/route.ts';
import { nullable, time } from '../../server/schemas.ts';

const { plain } = endpoints('Sources');

const SourceUpdate = Type.Object(
  {
    source: Type.String({ description: 'Slug.' }),
    occurrence: Type.String({ format: 'uuid' }),
    key: Type.String({ description: 'Of the alert.' }),
    state: Type.Enum([...updateStates], { description: 'What the sender gets to know.' }),
    by: Type.String({ description: 'Who acknowledged or resolved the occurrence.' }),
    changed_at: time(),
    status: Type.Enum(['waiting', 'done', 'failed'], {
      description:
        'waiting: not sent yet, or it is sent again. done: the sender accepted it, or there was nothing to send.',
    }),
    attempts: Type.Array(
      Type.Object({
        at: time(),
        state: Type.Enum([...updateStates]),
        by: Type.String(),
        outcome: Type.Enum(['done', 'retrying', 'failed']),
        detail: nullable(Type.String(), 'What the sender answered, if it refused.'),
        ms: Type.Integer(),
      }),
      { description: 'The last 20, oldest first.' },
    ),
  },
  { $id: 'SourceUpdate' },
);

const maxUpdates = 200;

function showUpdate({ occurrence_id: occurrence, changed_by: by, changed_at, log, ...row }: SourceUpdateRow) {
  return { ...row, occurrence, by, changed_at: changed_at.toISOString(), attempts: log };
}

export const listSourceUpdates = plain(['org', 'prj', 'app', 'source'], {
  id: 'listSourceUpdates',
  summary: 'List updates of source',
  description: `What was reported to the sender about its alerts by \`update\` of the source, newest first; at most ${maxUpdates}.`,
  answer: Type.Array(SourceUpdate),
  handle: async ({ deps, organization, source }) =>
    (await listUpdatesOfSource(deps.db, organization.id, source.id, maxUpdates)).map(showUpdate),
});

export const listOccurrenceSourceUpdates = plain(['org', 'identifier'], {
  id: 'listOccurrenceSourceUpdates',
  summary: 'List source updates of occurrence',
  description: `What was reported to the senders of its alerts; at most ${maxUpdates} alerts.`,
  answer: Type.Array(SourceUpdate),
  handle: async ({ deps, organization, occurrence }) =>
    (await listOccurrenceUpdates(deps.db, organization.id, occurrence.identifier, maxUpdates)).map(showUpdate),
});
