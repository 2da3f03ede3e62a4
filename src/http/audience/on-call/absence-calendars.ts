import { Type } from 'typebox';
import { AbsenceCalendarUpdate, calendarLimits, NewAbsenceCalendar } from '../../../core/oncall/calendars/calendar.ts';
import {
  type AbsenceCalendarRow,
  listAbsenceCalendars as listRows,
} from '../../../db/audience/on-call/absence-calendars.ts';
import * as calendars from '../../../services/audience/on-call/calendars/calendars.ts';
import { asCreated, ifMatch, withEtag } from '../../server/etag.ts';
import { apiPathOf, endpoints } from '../../server/route.ts';
import { nullableText, nullableTimestamp, time } from '../../server/schemas.ts';

const { deletion, list, plain } = endpoints('On call');
const path = ['org', 'username'] as const;

const content = {
  absences: Type.Integer({ description: `Absences that are not over, within ${calendarLimits.aheadDays} days.` }),
  found: Type.Array(Type.Object({ starts_at: time(), ends_at: time(), reason: nullableText }), {
    description: `The first ${calendarLimits.shown} of them.`,
  }),
  skipped: Type.Integer({ description: 'Events that cannot be read, or repeat more often than daily.' }),
  complete: Type.Boolean({
    description: `False: there are more than ${calendarLimits.absences} absences. The first ones count.`,
  }),
};
const host = Type.String({ description: 'Host of its address, which is a secret.' });
const words = Type.Array(Type.String(), { description: 'Empty: all-day events count.' });

const AbsenceCalendar = Type.Object(
  {
    id: Type.Integer(),
    user: Type.String({ description: 'Username.' }),
    host,
    words,
    ...content,
    fetched_at: nullableTimestamp,
    error: nullableText,
    failing_since: nullableTimestamp,
    next_fetch_at: time(),
    created_at: time(),
    created_by: Type.String({ description: 'The email of the account, the API key, or the user.' }),
  },
  { $id: 'AbsenceCalendar' },
);

const CalendarPreview = Type.Object(
  { host, events: Type.Integer({ description: 'All events in the calendar.' }), ...content },
  { $id: 'CalendarPreview' },
);

/** A fetch changes the rest. */
const ownOf = ({ id, host, words }: AbsenceCalendarRow) => ({ id, host, words });

export const listAbsenceCalendars = list(path, {
  id: 'listAbsenceCalendars',
  summary: 'List absence calendars of user',
  description: `A user has at most ${calendarLimits.perUser}. Each is fetched every hour; \`error\` says why the last time failed.`,
  item: AbsenceCalendar,
  personal: 'user',
  list: ({ deps, organization, user }, page) => listRows(deps.db, organization.id, user.id, page),
});

export const createAbsenceCalendar = plain(path, {
  id: 'createAbsenceCalendar',
  summary: 'Create absence calendar',
  description:
    'Its events become absences of the user. It is fetched at once: if that fails, nothing is stored, and the answer is 400 with the ' +
    `reason at \`url\`. At most ${calendarLimits.perUser} for a user: 409 \`absence_calendar.limit\`.`,
  status: 201,
  problems: [409, 503],
  body: NewAbsenceCalendar,
  answer: AbsenceCalendar,
  handle: async call => {
    const made = await calendars.createAbsenceCalendar(call.deps, call, call.body);
    const at = `u/${encodeURIComponent(call.user.username)}/absence-calendars/${made.id}/`;
    return asCreated(call, `${apiPathOf(call)}${at}`, made, ownOf(made));
  },
});

export const previewAbsenceCalendar = plain(path, {
  id: 'previewAbsenceCalendar',
  summary: 'Preview absence calendar',
  description: 'Fetches the calendar and returns the absences in it. Nothing is stored.',
  problems: [503],
  body: NewAbsenceCalendar,
  answer: CalendarPreview,
  handle: call => calendars.previewAbsenceCalendar(call.deps, call, call.body),
});

export const retrieveAbsenceCalendar = plain([...path, 'absence_calendar'], {
  id: 'retrieveAbsenceCalendar',
  summary: 'Retrieve absence calendar',
  answer: AbsenceCalendar,
  handle: call => withEtag(call, call.absence_calendar, ownOf(call.absence_calendar)),
});

export const updateAbsenceCalendar = plain([...path, 'absence_calendar'], {
  id: 'updateAbsenceCalendar',
  summary: 'Update absence calendar',
  description: 'Absent fields are left unchanged. The calendar is fetched at once, also without any field.',
  problems: [503],
  body: AbsenceCalendarUpdate,
  answer: AbsenceCalendar,
  handle: async call => {
    const { deps, absence_calendar, body } = call;
    const updated = await calendars.updateAbsenceCalendar(deps, call, absence_calendar.id, body, ifMatch(call, ownOf));
    return withEtag(call, updated, ownOf(updated));
  },
});

export const deleteAbsenceCalendar = deletion([...path, 'absence_calendar'], {
  id: 'deleteAbsenceCalendar',
  summary: 'Delete absence calendar',
  description: 'Its absences are deleted with it.',
  delete: (call, { dryRun }) =>
    calendars.deleteAbsenceCalendar(call.deps, call, call.absence_calendar.id, dryRun, ifMatch(call, ownOf)),
});
