/**
 * Sends test pages: to each user of a schedule regularly, and on demand. Every process does so; the database gives each schedule to one of
 * them. The page counts as successful when its user acknowledges the occurrence, wherever that is.
 */
import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { type Actor, commandLine } from '../../../core/identity/actor.ts';
import { uuidv7 } from '../../../core/ids.ts';
import {
  findNextTest,
  minAgeMs,
  type TestPages as Rules,
  testPageKey,
  usersOf,
} from '../../../core/oncall/test-pages.ts';
import { listSchedules } from '../../../db/audience/on-call/schedules.ts';
import {
  type ClaimedTestPage,
  claimDueTestsAcrossTenants,
  claimTestPages,
  type DueTest,
  listTestPages,
  settleDueTest,
  settleTestPage,
} from '../../../db/audience/on-call/test-pages.ts';
import { PollLoop } from '../../../lib/process/poll-loop.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { requireEvent, triggerEvent } from '../../history/triggers.ts';
import { record } from '../../operations/audit.ts';
import { now } from './on-call.ts';

const everyMs = 5_000;
const maxSchedules = 10;
const pagesAtOnce = 20;
/** Until pages are tried again that could not be triggered, such as because the event was deleted. */
const againMs = 3_600_000;
/** Between two test pages of a user on demand. */
const onDemandMs = 60_000;

/** What names the event: slugs. */
interface TestedSchedule {
  organization: string;
  project: string;
  slug: string;
  test: Rules;
}

export function sendTestPages(deps: Deps, log: Pick<FastifyBaseLogger, 'warn'>, isPaused: () => boolean): PollLoop {
  const round = async () => {
    while (!loop.isStopping && !isPaused()) {
      const claimed = await claimDueTestsAcrossTenants(deps.db, maxSchedules);
      for (const schedule of claimed) await sendFor(deps, log, schedule);
      if (claimed.length < maxSchedules) return;
    }
  };
  const loop = new PollLoop(round, { log, task: 'sending test pages', everyMs });
  return loop;
}

async function sendFor(deps: Deps, log: Pick<FastifyBaseLogger, 'warn'>, schedule: DueTest): Promise<void> {
  const { organization_id: organizationId, test, timezone, layers, test_planned } = schedule;
  let next = findNextTest(test, timezone, currentTime());
  if (test_planned) {
    const users = usersOf(layers).map(username => ({ username, occurrence: uuidv7(currentTime()) }));
    const pages = await claimTestPages(deps.db, organizationId, users, minAgeMs(test));
    const actor: Actor = { ...commandLine, name: `schedule ${schedule.slug}` };
    for (let i = 0; i < pages.length; i += pagesAtOnce) {
      const some = pages.slice(i, i + pagesAtOnce);
      try {
        await Promise.all(some.map(page => sendPage({ ...deps, actor }, organizationId, schedule, page)));
      } catch (error) {
        const { organization, project, slug } = schedule;
        log.warn({ err: error, schedule: `${organization}/${project}/${slug}` }, 'test pages cannot be sent');
        next = currentTime() + againMs;
        break;
      }
    }
  }
  await settleDueTest(deps.db, organizationId, schedule, new Date(next));
}

/** Triggers the event for one user. Repeating it does nothing, because it is stored under the same id. */
async function sendPage(
  deps: Deps,
  organizationId: number,
  { organization: org, project: prj, slug: schedule, test }: TestedSchedule,
  page: ClaimedTestPage,
): Promise<void> {
  const [app, evt] = test.event.split('/') as [string, string];
  const missing = `there is no event ${test.event}: give the schedule ${schedule} another one`;
  const path = await requireEvent(deps, { org, prj, app, evt }, missing);
  const { username, occurrence_id: id } = page;
  await triggerEvent(deps, path, {
    id,
    context: { title: 'This is a test: please acknowledge', test: true, schedule },
    options: {
      recipients: [username],
      limit_to: [username],
      dedup_key: testPageKey(id),
      ...(test.priority !== undefined && { priority: test.priority }),
    },
  });
  await settleTestPage(deps.db, organizationId, page);
}

interface Of {
  organization: { id: number; slug: string };
  user: { username: string };
}

/** Returns the last test page of a user, and the schedule by which the user gets them. */
export async function getTestPage({ db }: Pick<Deps, 'db'>, { organization, user: { username } }: Of) {
  const schedule = await findSchedule(db, organization.id, username);
  const [last] = await listTestPages(db, organization.id, [username]);
  return {
    schedule: schedule ? `${schedule.project}/${schedule.slug}` : null,
    occurrence: last?.occurrence_id ?? null,
    sent_at: last?.sent_at ?? null,
    confirmed_at: last?.confirmed_at ?? null,
  };
}

/** Sends a test page to a user now. */
export async function sendTestPage(deps: Deps, of: Of) {
  const { organization, user } = of;
  const { username } = user;
  const schedule = await findSchedule(deps.db, organization.id, username);
  if (!schedule) {
    const advice = 'add the user to a layer or an override of a schedule with `test`';
    throw new AppError('test_page.off', `no schedule with test pages names ${username}: ${advice}`);
  }
  const wanted = [{ username, occurrence: uuidv7(currentTime()) }];
  const [page] = await claimTestPages(deps.db, organization.id, wanted, onDemandMs);
  if (!page)
    throw new AppError('test_page.limited', `${username} is locked, or got a test page within the last minute`);
  await sendPage(deps, organization.id, { ...schedule, organization: organization.slug }, page);
  await record(deps, deps.db, organization.id, { action: 'send', noun: 'test_page', path: username });
  return getTestPage(deps, of);
}

/** Returns the first schedule with test pages that names the user in a layer; without one, in an override that is not over. */
async function findSchedule(db: Deps['db'], organizationId: number, username: string) {
  const rows = (await listSchedules(db, organizationId, { from: now() })).filter(({ test }) => test !== null);
  const row =
    rows.find(({ layers }) => usersOf(layers).includes(username)) ??
    rows.find(({ overrides }) => overrides.some(({ user }) => user === username));
  return row && { project: row.project, slug: row.slug, test: row.test as Rules };
}
