import { Type } from 'typebox';
import { absenceLimits, NewAbsence } from '../../../core/oncall/absences.ts';
import { listAbsencesOfUser } from '../../../db/audience/on-call/absences.ts';
import * as absences from '../../../services/audience/on-call/absences.ts';
import { asCreated, ifMatch, withEtag } from '../../server/etag.ts';
import { apiPathOf, endpoints } from '../../server/route.ts';
import { nullable, nullableText, time } from '../../server/schemas.ts';

const { deletion, list, plain } = endpoints('On call');
const path = ['org', 'username'] as const;

const Absence = Type.Object(
  {
    id: Type.Integer(),
    user: Type.String({ description: 'Username.' }),
    starts_at: time(),
    ends_at: time(),
    reason: nullableText,
    created_at: time(),
    created_by: Type.String({ description: 'The email of the account, the API key, or the user.' }),
    calendar: nullable(Type.Integer(), 'Id of the calendar that it comes from. Null: entered by hand.'),
  },
  { $id: 'Absence' },
);

export const listAbsences = list(path, {
  id: 'listAbsences',
  summary: 'List absences of user',
  description: `Newest first. Those that are over are kept for ${absenceLimits.keptDays} days.`,
  item: Absence,
  personal: 'user',
  list: ({ deps, organization, user }, page) => listAbsencesOfUser(deps.db, organization.id, user.id, page),
});

export const createAbsence = plain(path, {
  id: 'createAbsence',
  summary: 'Create absence',
  description:
    'The user is away. That does not change who is on call: shifts that collide with it are marked, so that someone else can take them. ' +
    `At most ${absenceLimits.open} that are not over: 409 \`absence.limit\`.`,
  status: 201,
  problems: [409],
  body: NewAbsence,
  answer: Absence,
  handle: async call => {
    const made = await absences.createAbsence(call.deps, call, call.body);
    const at = `u/${encodeURIComponent(call.user.username)}/absences/${made.id}/`;
    return asCreated(call, `${apiPathOf(call)}${at}`, made);
  },
});

export const retrieveAbsence = plain([...path, 'absence'], {
  id: 'retrieveAbsence',
  summary: 'Retrieve absence',
  answer: Absence,
  handle: call => withEtag(call, call.absence),
});

export const deleteAbsence = deletion([...path, 'absence'], {
  id: 'deleteAbsence',
  summary: 'Delete absence',
  description: 'Those of a calendar are deleted there, or with the calendar: 409 `absence.from_calendar`.',
  problems: [409],
  delete: (call, { dryRun }) => absences.deleteAbsence(call.deps, call, call.absence.id, dryRun, ifMatch(call)),
});
