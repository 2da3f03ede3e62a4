/** Test pages: which schedules are due, and when each user last got and confirmed one. */
import { sql } from 'kysely';
import type { Layer } from '../../../core/oncall/rotation.ts';
import type { TestPages } from '../../../core/oncall/test-pages.ts';
import type { Db } from '../../connection/pool.ts';
import { stoppedText } from '../../ledger/moving-text.ts';

/** After which what a process left behind is due again. */
const claimMinutes = 5;

export interface DueTest {
  organization_id: number;
  id: number;
  /** Slugs. */
  organization: string;
  project: string;
  slug: string;
  timezone: string;
  layers: Layer[];
  test: TestPages;
  /** False: only the time is to be computed. */
  test_planned: boolean;
  test_due_at: Date;
}

/** Claims schedules whose test pages are due, by moving the due time into the near future. */
export async function claimDueTestsAcrossTenants(db: Db, limit: number): Promise<DueTest[]> {
  const { rows } = await sql<DueTest>`
    with claimed as (
      update schedules s set test_due_at = now() + ${claimMinutes} * interval '1 minute'
      from (
        select organization_id, id from schedules
        where test_due_at <= now() and organization_id <> all(${sql.raw(stoppedText)})
        order by test_due_at limit ${limit} for update skip locked
      ) due
      where s.organization_id = due.organization_id and s.id = due.id
      returning s.organization_id, s.id, s.project_id, s.slug, s.timezone, s.layers, s.test, s.test_planned, s.test_due_at
    )
    select c.*, o.slug as organization, p.slug as project from claimed c
    join organizations o on o.id = c.organization_id
    join projects p on p.organization_id = c.organization_id and p.id = c.project_id`.execute(db);
  return rows;
}

/** Stores when test pages are due next, unless the schedule was changed since it was claimed. */
export async function settleDueTest(
  db: Db,
  organizationId: number,
  { id, test_due_at }: Pick<DueTest, 'id' | 'test_due_at'>,
  next: Date,
): Promise<void> {
  // The stored time is more precise than a Date.
  await sql`
    update schedules set test_due_at = ${next}, test_planned = true
    where organization_id = ${organizationId} and id = ${id}
      and date_trunc('milliseconds', test_due_at) = ${test_due_at}`.execute(db);
}

export interface ClaimedTestPage {
  user_id: number;
  username: string;
  /** Id that the occurrence gets. */
  occurrence_id: string;
}

/**
 * Claims the test pages of users who are not locked, and whose last one is older than that. A page that is not known to be stored keeps its
 * id, so that triggering it again does nothing.
 */
export async function claimTestPages(
  db: Db,
  organizationId: number,
  users: readonly { username: string; occurrence: string }[],
  minAgeMs: number,
): Promise<ClaimedTestPage[]> {
  const { rows } = await sql<ClaimedTestPage>`
    with claimed as (
      insert into test_pages as t (organization_id, user_id, occurrence_id, sent_at)
      select u.organization_id, u.id, g.occurrence_id, now()
      from unnest(${users.map(one => one.username)}::text[], ${users.map(one => one.occurrence)}::uuid[]) as g (username, occurrence_id)
      join users u on u.organization_id = ${organizationId} and u.username = g.username and not u.locked
      order by u.id
      on conflict (organization_id, user_id) do update set sent_at = now(), pending = true,
        occurrence_id = case when t.pending then t.occurrence_id else excluded.occurrence_id end
      where t.pending or t.sent_at <= now() - ${minAgeMs} * interval '1 ms'
      returning user_id, occurrence_id
    )
    select c.user_id, u.username, c.occurrence_id from claimed c
    join users u on u.organization_id = ${organizationId} and u.id = c.user_id`.execute(db);
  return rows;
}

/** Records that the occurrence is stored. */
export async function settleTestPage(db: Db, organizationId: number, { user_id, occurrence_id }: ClaimedTestPage) {
  await sql`
    update test_pages set pending = false
    where organization_id = ${organizationId} and user_id = ${user_id} and occurrence_id = ${occurrence_id}`.execute(
    db,
  );
}

/** Records that the user has confirmed the last test page. Returns false if it is not that of the user. */
export async function confirmTestPage(
  db: Db,
  organizationId: number,
  occurrence: string,
  userId: number,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update test_pages set confirmed_at = now(), pending = false
    where organization_id = ${organizationId} and user_id = ${userId} and occurrence_id = ${occurrence}`.execute(db);
  return Number(numAffectedRows ?? 0) > 0;
}

export interface TestPageRow {
  username: string;
  occurrence_id: string;
  sent_at: Date;
  confirmed_at: Date | null;
}

/** Lists the last test pages of these users. */
export async function listTestPages(
  db: Db,
  organizationId: number,
  usernames: readonly string[],
): Promise<TestPageRow[]> {
  const { rows } = await sql<TestPageRow>`
    select u.username, t.occurrence_id, t.sent_at, t.confirmed_at from users u
    join test_pages t on t.organization_id = u.organization_id and t.user_id = u.id
    where u.organization_id = ${organizationId} and u.username = any(${[...usernames]}::text[])`.execute(db);
  return rows;
}
