/**
 * The rows that statements about people on call read must not grow with history, without statistics of the tables too: they run every few
 * seconds, or whenever someone looks. They run with the settings of the API here, which plans each of them again.
 * @module-tag sweep
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../src/core/ids.ts';
import { dayMs } from '../../src/core/oncall/zone.ts';
import {
  claimCalendarAcrossTenants,
  countAbsenceCalendars,
  findAbsenceCalendar,
  findTimezone,
  listAbsenceCalendars,
  listFailingCalendarsAcrossTenants,
  lockCalendar,
  postponeCalendar,
  replaceAbsences,
  settleFailed,
  settleFetched,
} from '../../src/db/audience/on-call/absence-calendars.ts';
import { countAbsences, listAbsences, listAbsencesOfUser } from '../../src/db/audience/on-call/absences.ts';
import { findFeedOwner, incrementCalendarGeneration } from '../../src/db/audience/on-call/feeds.ts';
import {
  claimGroupAcrossTenants,
  confirmGroup,
  failGroup,
  findNextGroupDueAcrossTenants,
  listGroupPeople,
  listGroups,
  setWanted,
} from '../../src/db/audience/on-call/groups.ts';
import {
  listFilledLists,
  listOrganizationsOnCallAcrossTenants,
  listUsesOfSchedules,
  listVerifiedAddresses,
} from '../../src/db/audience/on-call/readiness.ts';
import { findDutyZones, listPages, listResponses } from '../../src/db/audience/on-call/report.ts';
import { listEventsUsingSchedule, listSchedules } from '../../src/db/audience/on-call/schedules.ts';
import { countSwaps, listSwaps } from '../../src/db/audience/on-call/swaps.ts';
import {
  claimDueTestsAcrossTenants,
  claimTestPages,
  confirmTestPage,
  listTestPages,
  settleDueTest,
  settleTestPage,
} from '../../src/db/audience/on-call/test-pages.ts';
import {
  addNotice,
  claimNoticesAcrossTenants,
  endNotice,
  findAnnouncementErrors,
  findNextShiftDueAcrossTenants,
  lockDueSchedulesAcrossTenants,
  lockUnseenSchedule,
  postponeNotice,
  storeLook,
} from '../../src/db/audience/on-call/watches.ts';
import { endCode, listAwaitingCode, takeAttempt, takeCode } from '../../src/db/audience/verification.ts';
import { insert } from '../../src/db/connection/insert.ts';
import { createPartitions } from '../../src/db/connection/partitions.ts';
import { type Database, openDatabase } from '../../src/db/connection/pool.ts';
import { listUnresolved } from '../../src/db/history/sources/incidents.ts';
import { deleteOlderAcrossTenants } from '../../src/db/operations/retention.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { addIncident, fillOnCall, first, own } from '../support/on-call-history.ts';
import { countRead, createTenant, stopAutovacuum, tested } from '../support/plans.ts';

const { organization } = tested;
let open: Database;

const ago = (days: number) => new Date(Date.now() - days * dayMs);
const people = ['u1', 'u2', 'u3'];
const page = { after: 0, limit: 10 };
const span = () => ({ since: ago(0.5), until: new Date(), limit: 1_000 });

/** Every statement, run on a few rows, with the maximum number of rows and index entries that it may read. `isAnalyzed`: needs statistics. */
const statements: Record<string, { max: number; isAnalyzed?: true; run: () => Promise<unknown> }> = {
  'when something is due': { max: 20, run: () => findNextShiftDueAcrossTenants(open.db, 10_000) },
  'a look at the schedules that are due': {
    max: 250,
    run: () =>
      open.db.transaction().execute(async trx => {
        const due = await lockDueSchedulesAcrossTenants(trx, 20);
        const now = new Date();
        for (const one of due) {
          await listSchedules(trx, one.organization_id, { id: one.schedule_id, from: now });
          await storeLook(trx, one.organization_id, one.schedule_id, { shifts: [], dueAt: ago(1) });
        }
        await lockUnseenSchedule(trx, organization, first);
        return due;
      }),
  },
  'announcements, until they are made': {
    max: 250,
    run: async () => {
      await addNotice(open.db, organization, first, { context: {}, recipients: people });
      const claimed = await claimNoticesAcrossTenants(open.db, 100);
      await postponeNotice(open.db, organization, claimed[0]!, { error: 'busy', seconds: 60 });
      for (const one of claimed.slice(1)) await endNotice(open.db, organization, one, 'gone');
      return [...(await findAnnouncementErrors(open.db, organization, [1, 2, 3]))];
    },
  },
  'when a group is due': { max: 20, run: () => findNextGroupDueAcrossTenants(open.db, 10_000) },
  'groups, until they are sent': {
    max: 250,
    run: async () => {
      await setWanted(open.db, organization, first, people);
      const [one, other] = [await claimGroupAcrossTenants(open.db, []), await claimGroupAcrossTenants(open.db, [])];
      await confirmGroup(open.db, organization, one!, {
        members: people,
        ids: people,
        leftOut: [],
        againSeconds: null,
      });
      await failGroup(open.db, organization, other!, { error: 'busy', seconds: 60, accounts: new Map() });
      await listGroupPeople(open.db, organization, people, 'slack', 10);
      return listGroups(open.db, organization, first);
    },
  },
  'the events that go to a schedule': {
    max: 20,
    run: () => listEventsUsingSchedule(open.db, organization, 1, 's1'),
  },
  'open incidents of a schedule': {
    max: 20,
    run: async () => (await listUnresolved(open.db, organization, [1], 10)).incidents,
  },
  'a schedule with the overrides of a time': {
    max: 20,
    run: () => listSchedules(open.db, organization, { id: first, from: ago(1), until: new Date() }),
  },
  'a page of schedules with the overrides of a time': {
    max: 100,
    isAnalyzed: true,
    run: () => listSchedules(open.db, organization, { page, from: ago(1), until: new Date() }),
  },
  'test pages that are due, until they are confirmed': {
    max: 250,
    run: async () => {
      const [due] = await claimDueTestsAcrossTenants(open.db, 10);
      const wanted = people.map(username => ({ username, occurrence: uuidv7(Date.now()) }));
      const pages = await claimTestPages(open.db, organization, wanted, dayMs);
      for (const one of pages) {
        await settleTestPage(open.db, organization, one);
        await confirmTestPage(open.db, organization, one.occurrence_id, one.user_id);
      }
      await settleDueTest(open.db, organization, due!, ago(-1));
      return pages;
    },
  },
  'the last test pages of a few users': { max: 30, run: () => listTestPages(open.db, organization, people) },
  'verified addresses of a few users': { max: 30, run: () => listVerifiedAddresses(open.db, organization, people) },
  'lists that have members': { max: 20, run: () => listFilledLists(open.db, organization, ['p']) },
  'notifications that go to a few schedules': {
    max: 60,
    isAnalyzed: true,
    run: () => listUsesOfSchedules(open.db, organization, [1, 2, 3]),
  },
  'organizations with schedules': { max: 50, run: () => listOrganizationsOnCallAcrossTenants(open.db) },
  'messages to people on call': {
    // The messages to each one in the months of the span and before it.
    max: 3 * own,
    run: () => listPages(open.db, organization, people, span()),
  },
  'responses of a time': { max: 20, run: () => listResponses(open.db, organization, span()) },
  'responses of a time in a project': {
    max: 30,
    run: () => listResponses(open.db, organization, { ...span(), project: { id: 1 } }),
  },
  'time zones of a few users': { max: 30, run: () => findDutyZones(open.db, organization, people) },
  'absences of a few users in a time': {
    max: 30,
    run: async () => {
      const until = ago(-1);
      await open.pool.query(
        `insert into absences (organization_id, user_id, starts_at, ends_at, created_by) values ($1, 2, now(), $2, 'ann')`,
        [organization, until],
      );
      return listAbsences(open.db, organization, people, ago(1), until);
    },
  },
  'a page of the absences of a user': {
    max: 3 * own,
    run: () => listAbsencesOfUser(open.db, organization, first, page),
  },
  'a count of the absences of a user': { max: 3 * own, run: () => countAbsences(open.db, organization, first) },
  'the calendars of a user, which have many absences that are over': {
    max: 60,
    run: async () => {
      await countAbsenceCalendars(open.db, organization, first);
      await findTimezone(open.db, organization, first);
      const found = await listAbsenceCalendars(open.db, organization, first, page);
      return [await findAbsenceCalendar(open.db, organization, first, found[0]!.id)];
    },
  },
  'calendars that are due, until they are fetched': {
    max: 100,
    run: async () => {
      const claim = { seconds: 60, after: 0, except: [], readAgain: 60 };
      const claimed = (await claimCalendarAcrossTenants(open.db, claim))!;
      await open.db.transaction().execute(async trx => {
        await lockCalendar(trx, organization, claimed);
        const absences = [{ from: Date.now(), until: Date.now() + dayMs, reason: null }];
        await replaceAbsences(trx, organization, claimed, absences, { since: ago(1), by: 'calendar' });
        await settleFetched(trx, organization, claimed.id, undefined, 3_600);
      });
      await settleFailed(open.db, organization, claimed, { error: 'gone', seconds: 60 });
      await postponeCalendar(open.db, organization, claimed, 60);
      return [claimed];
    },
  },
  'calendars that fail': {
    max: 20,
    run: async () => {
      await insert(open.db, organization, 'absence_calendars', {
        ...{ user_id: first, secrets: Buffer.of(1), host: 'calendar.acme.test', words: [], created_by: 'ann' },
      });
      await open.pool.query(`update absence_calendars set failing_since = '2020-01-01' where id = 1`);
      return listFailingCalendarsAcrossTenants(open.db, ago(1), 10);
    },
  },
  'a page of the swaps of a schedule': { max: 50, run: () => listSwaps(open.db, organization, first, page) },
  'a count of the swaps of a schedule': { max: 3 * own, run: () => countSwaps(open.db, organization, first) },
  'a code, until it is entered': {
    max: 100,
    run: async () => {
      const code = { userId: first, addressId: first, sentTo: 'x', codeHash: 'y' };
      const taken = await open.db.transaction().execute(trx => takeCode(trx, organization, code));
      const waiting = await listAwaitingCode(open.db, organization, first);
      await takeAttempt(open.db, organization, first);
      if ('id' in taken) await endCode(open.db, organization, taken.id);
      return [...waiting];
    },
  },
  'the address of a calendar': {
    max: 20,
    run: async () => {
      const owners = (['schedule', 'user'] as const).map(of => ({ of, id: first }));
      for (const owner of owners) await incrementCalendarGeneration(open.db, organization, owner);
      return Promise.all(owners.map(owner => findFeedOwner(open.db, organization, owner)));
    },
  },
  'what is older than it is kept': {
    max: 20,
    run: async () => {
      for (const table of ['absences', 'schedule_swaps', 'verification_codes'] as const)
        await deleteOlderAcrossTenants(open.db, table, ago(90));
    },
  },
};

describe.each(['empty', 'current'] as const)('with statistics that are %s,', statistics => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    const { db, pool, close } = openDatabase({ url: database.url, name: 'fill', connections: 1 });
    await createPartitions(db, Date.now(), Date.now() - 70 * dayMs);
    await stopAutovacuum(pool);
    await pool.query('vacuum analyze');
    await createTenant(pool, organization);
    await fillOnCall(pool, organization);
    await addIncident(pool, organization);
    if (statistics === 'current') await pool.query('vacuum analyze');
    await close();
    open = openDatabase({ url: database.url, name: 'plans', connections: 1 });
  });
  afterAll(async () => {
    await open.close();
    await database.drop();
  });

  const chosen = Object.entries(statements).filter(([, { isAnalyzed }]) => statistics === 'current' || !isAnalyzed);
  test.each(chosen)('%s: only the rows that are needed are read', async (_, { max, run }) => {
    const before = await countRead(open.pool);
    const result = await run();
    const read = (await countRead(open.pool)) - before;
    expect(read).toBeLessThan(max);
    // The statement must have found rows: reading nothing proves nothing.
    if (Array.isArray(result)) expect(result).not.toEqual([]);
  });
});
