import { Type } from 'typebox';
import { newSchemaOf } from '../../../core/configuration/entries.ts';
import { visibleUsers } from '../../../core/identity/visible-users.ts';
import { gapKinds, gapLimits } from '../../../core/oncall/gaps.ts';
import { NewPage } from '../../../core/oncall/page.ts';
import { listGaps as findGaps, gapSearchLimits } from '../../../services/audience/on-call/gaps.ts';
import * as onCall from '../../../services/audience/on-call/on-call.ts';
import { page } from '../../../services/audience/on-call/page.ts';
import { previewShifts as preview } from '../../../services/audience/on-call/preview.ts';
import { gone } from '../../../services/configuration/entries.ts';
import { endpoints, slugsOf } from '../../server/route.ts';
import { nullable, nullableText, time } from '../../server/schemas.ts';

const { list, plain } = endpoints('On call');

const Person = Type.Object({
  username: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  state: Type.Enum(['active', 'locked', 'missing'], {
    description: 'Locked and missing users are not notified. missing: deleted since.',
  }),
});
const decided = {
  users: Type.Array(Person, { description: 'Empty: no one.' }),
  layers: Type.Array(Type.String(), { description: 'Names of the layers that decided.' }),
  overrides: Type.Array(Type.Integer(), { description: 'Ids of the overrides that changed it.' }),
};

const absences = Type.Array(
  Type.Object({
    username: Type.String(),
    from: time(),
    until: time(),
    reason: nullableText,
  }),
  {
    description:
      'When these users are away in the meantime, although they are on call. Empty for callers that may not read users.',
  },
);

const OnCall = Type.Object(
  {
    id: Type.Integer({ description: 'Id of the schedule.' }),
    project: Type.String({ description: 'Slug.' }),
    schedule: Type.String({ description: 'Slug.' }),
    name: Type.String(),
    timezone: Type.String(),
    fallback: nullableText,
    ...decided,
    until: nullable(time(), `When the users change. Null: not within ${onCall.onCallLimits.aheadDays} days.`),
    next: nullable(
      Type.Object({ from: time(), users: Type.Array(Person) }),
      `Who is on call after them. Null: no one else within ${onCall.onCallLimits.aheadDays} days.`,
    ),
    absences,
    announcement_error: nullable(
      Type.String(),
      'Why the event of `on_change` could not be triggered the last time. It is tried again for an hour. Null: it could.',
    ),
  },
  { $id: 'OnCall' },
);

const Shift = Type.Object({ from: time(), until: time(), ...decided, absences }, { $id: 'Shift' });

const Gaps = Type.Object(
  {
    until: time('Until when gaps were looked for.'),
    schedules: Type.Integer({ description: 'How many schedules were examined.' }),
    complete: Type.Boolean({ description: 'False: there may be more gaps. Name a project, or a shorter time.' }),
    gaps: Type.Array(
      Type.Object({
        kind: Type.Enum([...gapKinds], {
          description:
            '`no_one`: no one can be notified, not even a fallback list. Otherwise, what is wrong with someone who is on call: ' +
            '`missing`: deleted. `locked`. `absent`. `unreachable`: no usable address for any channel. `rules`: personal rules by a ' +
            `channel type without a usable address. \`unverified\`: fewer than ${gapLimits.verified} channel types with a verified ` +
            `address. \`untested\`: gets test pages, and has confirmed none for ${gapLimits.testedDays} days.`,
        }),
        project: Type.String({ description: 'Slug.' }),
        schedule: Type.String({ description: 'Slug.' }),
        user: nullable(Type.String(), 'Username. Null: no one is on call.'),
        from: time('Of someone on call: when that begins for the first time.'),
        until: time(),
        message: Type.String({ description: 'What is wrong.' }),
        advice: Type.String({ description: 'What to do about it.' }),
        used_by: Type.Array(Type.String(), {
          description: `Paths of notifications that go to the schedule, at most ${gapSearchLimits.uses}.`,
        }),
      }),
      { description: `By schedule, at most ${gapSearchLimits.gaps}.` },
    ),
  },
  { $id: 'Gaps' },
);

const Paged = Type.Object(
  { occurrence: Type.String({ description: 'Identifier of the occurrence.' }) },
  { $id: 'Paged' },
);

const at = Type.Optional(time('Absent: now.'));
export const span = {
  since: time('Beginning of the time.'),
  until: time(`Its end, at most ${onCall.onCallLimits.days} days later.`),
};
export const toSpan = ({ since, until }: { since: Date | string; until: Date | string }) => ({
  since: new Date(since),
  until: new Date(until),
});

export const listOnCall = list(['org'], {
  id: 'listOnCall',
  summary: 'List who is on call',
  description: 'All schedules of the organization with who is on call and who is next.',
  query: Type.Object({
    at,
    user: Type.Optional(
      Type.String({
        description: 'Only schedules with this username in a layer, or in an override that is not over at that time.',
      }),
    ),
  }),
  item: OnCall,
  personal: 'user',
  list: ({ deps, caller, organization, query }, page) =>
    onCall.listOnCall(deps, organization.id, {
      page,
      at: timeOf(query.at),
      user: query.user,
      visible: visibleUsers(caller.grant, { organization }),
    }),
});

export const listGaps = plain(['org'], {
  id: 'listGaps',
  summary: 'List gaps of schedules',
  description:
    'Times from now on at which no one is on call, and people on call who would not be reached. Keys without the permission user:read ' +
    'learn of the times only.',
  query: Type.Object({
    project: Type.Optional(Type.String({ description: 'Only schedules of this project: its slug.' })),
    schedule: Type.Optional(Type.String({ description: 'Only schedules with this slug.' })),
    until: Type.Optional(time(`Absent: in ${gapLimits.defaultDays} days. At most ${gapLimits.days} days ahead.`)),
  }),
  answer: Gaps,
  handle: ({ deps, caller, organization, query: { until, ...selection } }) =>
    findGaps(deps, organization.id, {
      ...selection,
      until: until === undefined ? undefined : new Date(until),
      visible: visibleUsers(caller.grant, { organization }),
    }),
});

export const retrieveOnCall = plain(['org', 'prj', 'schedule'], {
  id: 'retrieveOnCall',
  summary: 'Retrieve who is on call',
  query: Type.Object({ at }),
  answer: OnCall,
  handle: async ({ deps, caller, organization, project, schedule: { slug }, query }) => {
    const visible = visibleUsers(caller.grant, { organization, project });
    const selection = { project, slug, at: timeOf(query.at), visible };
    const [found] = await onCall.listOnCall(deps, organization.id, selection);
    if (!found) throw gone('schedule');
    return found;
  },
});

export const listShifts = plain(['org', 'prj', 'schedule'], {
  id: 'listShifts',
  summary: 'List shifts of schedule',
  description: 'All moments of the time are covered: while no one is on call, `users` is empty.',
  query: Type.Object(span),
  answer: Type.Array(Shift),
  handle: ({ deps, caller, organization, project, schedule: { slug }, query }) => {
    const visible = visibleUsers(caller.grant, { organization, project });
    return onCall.listScheduleShifts(deps, organization.id, { project, slug }, toSpan(query), visible);
  },
});

export const previewShifts = plain(['org', 'prj'], {
  id: 'previewShifts',
  summary: 'Preview shifts of schedule',
  description:
    'Returns the shifts that a schedule would have, with the overrides of the stored one. Nothing is stored.',
  body: Type.Object(
    { ...span, schedule: newSchemaOf('PreviewedSchedule', 'schedule') },
    { $id: 'ShiftPreviewRequest', additionalProperties: false },
  ),
  answer: Type.Array(Shift),
  handle: call => {
    const { deps, caller, organization, project, body } = call;
    const visible = visibleUsers(caller.grant, { organization, project });
    return preview(deps, slugsOf(call), body.schedule, toSpan(body), visible);
  },
});

export const pageSchedule = plain(['org', 'prj', 'schedule'], {
  id: 'pageSchedule',
  summary: 'Page schedule',
  description:
    'Triggers the event that the schedule names with `page`, with the context `title`, `message`, `paged_by` and `schedule`. With ' +
    '`user`, only that user is notified. 409 `schedule.not_pageable` if the schedule names no event, or if the event notifies ' +
    'neither the schedule nor, with `user`, recipients that the trigger names.',
  status: 201,
  problems: [409],
  body: NewPage,
  answer: Paged,
  handle: async ({ deps, caller, organization, project, schedule, body, request }) => {
    const keyId = caller.kind === 'key' ? caller.id : `account:${caller.id}`;
    return {
      occurrence: await page(deps, { organization, project, schedule }, body, { keyId, bytes: request.bodyBytes }),
    };
  },
});

function timeOf(at: Date | string | undefined): Date {
  return at === undefined ? onCall.now() : new Date(at);
}
