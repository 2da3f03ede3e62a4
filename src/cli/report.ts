import { createReport, type OnCallReport, reportToCsv } from '../services/audience/on-call/report.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import { flag, parseTime, readArguments, string } from './arguments.ts';
import { type Command, usageError } from './command.ts';
import { printable } from './format.ts';
import { remoteOf } from './remote.ts';
import { asSent, printRows } from './rows.ts';

type Person = OnCallReport['people'][number];

export const report: Command = {
  name: 'report',
  usage: 'ORG --since TIME --until TIME [--project PRJ] [--schedule SCHEDULE] [--csv | --json]',
  summary: 'Report who was on call how long, their pages, and how quickly they responded.',
  details: `--since TIME         the beginning, such as 2030-01-01
--until TIME         the end, at most 92 days later
--project PRJ        only the schedules and incidents of this project
--schedule SCHEDULE  only this schedule of the project
--csv                print CSV, with times in seconds
--json               print JSON

Nights are from 22:00 until 06:00, weekends Saturdays and Sundays, in the time zone of each user. Incidents are occurrences of notifications
with steps, and those with a dedup key. With BELFRY_URL, the key needs the permission schedule:read.`,
  examples: [
    'belfry report acme --since 2030-01-01 --until 2030-02-01',
    'belfry report acme --since 2030-01-01 --until 2030-02-01 --csv',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, {
      ...{ since: string, until: string, project: string, schedule: string },
      ...{ csv: flag, json: flag },
    });
    const [org = '', ...others] = positionals;
    if (org === '' || others.length > 0)
      throw usageError('name one organization: belfry report ORG --since … --until …');
    if (values.csv && values.json) throw usageError('--csv and --json cannot be combined');
    const since = parseTime('--since', values.since);
    const until = parseTime('--until', values.until);
    if (!since || !until) throw usageError('--since and --until are required');
    const { project, schedule } = values;
    const query = new URLSearchParams({
      ...{ since: since.toISOString(), until: until.toISOString() },
      ...(project !== undefined && { project }),
      ...(schedule !== undefined && { schedule }),
    });
    const remote = remoteOf(terminal);
    const found: { people: Person[] } = remote
      ? await remote.request('GET', `/api/o/${encodeURIComponent(org)}/on-call/report/?${query}`)
      : await terminal.withDeps(async deps => {
          const { id } = await getOrganization(deps, org);
          return createReport(deps, { id, slug: org }, { since, until, project, schedule, visible: 'all' });
        });
    if (values.csv) return terminal.print(reportToCsv(found).trimEnd());
    if (values.json) return terminal.print(JSON.stringify(asSent([found])[0], null, 2));
    printRows(terminal, found.people, {}, 'No one was on call.', {
      USER: one => printable(one.username),
      SHIFTS: one => String(one.shifts),
      HOURS: one => String(one.hours),
      NIGHT: one => String(one.night_hours),
      WEEKEND: one => String(one.weekend_hours),
      'OF MEAN': one => `${Math.round(one.against_mean * 100)} %`,
      PAGES: one => String(one.pages),
      ACKNOWLEDGED: one => String(one.acknowledged),
      'TO ACKNOWLEDGE': one => (one.time_to_acknowledge ? `${one.time_to_acknowledge.median} s` : ''),
      RESOLVED: one => String(one.resolved),
      'TO RESOLVE': one => (one.time_to_resolve ? `${one.time_to_resolve.median} s` : ''),
    });
  },
};
