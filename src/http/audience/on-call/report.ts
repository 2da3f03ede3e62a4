import { Type } from 'typebox';
import { visibleUsers } from '../../../core/identity/visible-users.ts';
import * as report from '../../../services/audience/on-call/report.ts';
import { recordRead } from '../../../services/operations/audit.ts';
import { type Call, endpoints } from '../../server/route.ts';
import { nullable, time } from '../../server/schemas.ts';
import { span, toSpan } from './on-call.ts';

const { plain } = endpoints('On call');

const query = Type.Object({
  ...span,
  project: Type.Optional(Type.String({ description: 'Slug: only its schedules and incidents.' })),
  schedule: Type.Optional(Type.String({ description: 'Slug: only this schedule of the project.' })),
});

const spread = (description: string) =>
  nullable(Type.Object({ median: Type.Number(), p90: Type.Number() }), `${description} In seconds; null: none.`);

const OnCallReport = Type.Object(
  {
    since: time(),
    until: time(),
    schedules: Type.Integer({ description: 'How many there are.' }),
    people: Type.Array(
      Type.Object({
        username: Type.String(),
        first_name: Type.String(),
        last_name: Type.String(),
        timezone: Type.String({ description: "The user's, or the organization's." }),
        shifts: Type.Integer(),
        hours: Type.Number({ description: 'On call. Shifts of several schedules at the same time count once.' }),
        night_hours: Type.Number({ description: 'From 22:00 until 06:00.' }),
        weekend_hours: Type.Number({ description: 'On Saturdays and Sundays.' }),
        against_mean: Type.Number({ description: 'The hours, as a multiple of the mean of all.' }),
        pages: Type.Integer({ description: 'Messages about incidents that were sent while on call.' }),
        acknowledged: Type.Integer({ description: 'Incidents of the time that the user acknowledged first.' }),
        time_to_acknowledge: spread('From the trigger to the first acknowledgement.'),
        resolved: Type.Integer({ description: 'Incidents of the time that the user resolved.' }),
        time_to_resolve: spread('From the trigger to the resolution.'),
      }),
      { description: 'Users who were on call, those with the most hours first.' },
    ),
  },
  { $id: 'OnCallReport' },
);

type ReportCall = Call & {
  organization: { id: number; slug: string };
  query: { since: Date | string; until: Date | string; project?: string; schedule?: string };
};

const create = ({ deps, caller, organization, query: { project, schedule, ...times } }: ReportCall) =>
  report.createReport(deps, organization, {
    ...toSpan(times),
    project,
    schedule,
    visible: visibleUsers(caller.grant, { organization }),
  });

export const retrieveOnCallReport = plain(['org'], {
  id: 'retrieveOnCallReport',
  readsReplica: true,
  summary: 'Retrieve report about being on call',
  description:
    'For each user who was on call: the hours, the pages, and how quickly the user acknowledged and resolved incidents. ' +
    'Incidents are occurrences of notifications with steps, and those with a `dedup_key`.',
  query,
  answer: OnCallReport,
  handle: create,
});

export const exportOnCallReport = plain(['org'], {
  id: 'exportOnCallReport',
  readsReplica: true,
  summary: 'Export report about being on call',
  description: 'Returns the report as a CSV file. Times are in seconds.',
  query,
  produces: 'text/csv',
  answer: Type.String(),
  handle: async call => {
    const { deps, organization, request, reply } = call;
    const text = report.reportToCsv(await create(call));
    if (request.method !== 'HEAD')
      await recordRead(deps, organization.id, { action: 'export', noun: 'schedule', path: 'report' });
    reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="on-call.csv"')
      .serializer((csv: string) => csv);
    return text;
  },
});
