/** A long history of people on call, of which the statements that count rows must read nothing. */
import type pg from 'pg';
import { lowestUuidAt, uuidv7 } from '../../src/core/ids.ts';
import { dayMs } from '../../src/core/oncall/zone.ts';
import { size } from './plans.ts';

/** Ids of schedules and users begin with 1. The first schedule and the first user have a history of their own. */
export const first = 1;
/** Rows of the first schedule and the first user. */
export const own = 500;

/** What is due: as many schedules to look at, announcements and schedules with test pages. */
export const due = 3;

/** Returns the time of the i-th of many occurrences in the last 60 days, the last of them a day ago. */
const past = (i: number) => Date.now() - dayMs * (1 + (59 * (size - i)) / size);

export async function fillOnCall(pool: pg.Pool, organization: number): Promise<void> {
  const run = (text: string, ...values: unknown[]) => pool.query(text, [organization, ...values]);
  const rows = (count: number) => `generate_series(1, ${count}) i`;
  // The triggers would leave dead rows.
  for (const table of ['schedules', 'schedule_overrides'])
    await pool.query(`alter table ${table} disable trigger user`);
  await run(
    `insert into users (organization_id, id, username, email) overriding system value
     select $1, i, 'u' || i, 'u' || i || '@x.test' from ${rows(size)}`,
  );
  await run(
    `insert into addresses (organization_id, id, user_id, name, value, verified_at) overriding system value
     select $1, i, i, 'email', 'u' || i || '@x.test', now() from ${rows(size)}`,
  );
  await run('update distribution_lists set active_members = 1 where organization_id = $1');
  await run(
    `insert into events (organization_id, id, application_id, slug, name) overriding system value values ($1, 1, 1, 'e', 'E')`,
  );
  await run(
    `insert into notifications (organization_id, id, event_id, name, recipients, channels) overriding system value
     values ($1, 1, 1, 'n', '{"schedule": "s1"}', '{c}')`,
  );
  // A few are due, all others later.
  const dueAt = `now() + interval '1 day' * case when i <= ${due} then -1 else 1 end`;
  const test = '{"event": "a/e", "every": "30d", "at": "10:00"}';
  await run(
    `insert into schedules (organization_id, id, project_id, slug, name, timezone, layers, combine, on_change, test, test_due_at,
       test_planned)
     overriding system value
     select $1, i, 1, 's' || i, 'S', 'UTC', '[]', 'cover', 'a/e', '${test}', ${dueAt}, true from ${rows(size)}`,
  );
  await run(
    `insert into schedule_watches (organization_id, schedule_id, shifts, due_at) select $1, i, '[]', ${dueAt} from ${rows(size)}`,
  );
  await run(
    `insert into schedule_groups (organization_id, schedule_id, channel, group_id, wanted, due_at, failing_since)
     select $1, i, 'c', 'S' || i, '{u1}', ${dueAt}, case when i <= ${due} then now() - interval '1 hour' end from ${rows(size)}`,
  );
  await run(
    `insert into schedule_notices (organization_id, id, schedule_id, context, recipients, due_at)
     select $1, gen_random_uuid(), i, '{}', '{u1}', ${dueAt} from ${rows(size)}`,
  );
  // As many overrides, swaps and absences as are kept, and those of others.
  const over = `now() - interval '20 days' - i * interval '1 minute', now() - interval '19 days' - i * interval '1 minute', 'ann'`;
  const each = `from ${rows(size + own)}, lateral (select greatest(1, i - ${own}) as id) each`;
  await run(
    `insert into schedule_overrides (organization_id, schedule_id, user_id, starts_at, ends_at, created_by)
     select $1, each.id, each.id, ${over} ${each}`,
  );
  await run(
    `insert into schedule_swaps (organization_id, schedule_id, user_id, starts_at, ends_at, created_by)
     select $1, each.id, each.id, ${over} ${each}`,
  );
  await run(
    `insert into absences (organization_id, user_id, starts_at, ends_at, created_by) select $1, each.id, ${over} ${each}`,
  );
  await run(
    `insert into absence_calendars (organization_id, user_id, secrets, host, due_at, created_by)
     select $1, i, '', 'calendar.acme.test', now() + case when i <= 20 then '-1 minute' else '1 hour' end::interval, 'ann'
     from ${rows(size)}`,
  );
  await run(
    `insert into absences (organization_id, user_id, calendar_id, starts_at, ends_at, created_by)
     select $1, c.user_id, c.id, now() - interval '20 days' - n * interval '1 minute', now() - interval '19 days' - n * interval '1 minute', 'ann'
     from absence_calendars c, generate_series(1, 5) as n where c.organization_id = $1`,
  );
  await run(
    `insert into test_pages (organization_id, user_id, occurrence_id, sent_at, pending)
     select $1, i, gen_random_uuid(), now() - interval '40 days', false from ${rows(size)}`,
  );
  await run(
    `insert into verification_codes (organization_id, user_id, address_id, sent_to, code_hash, attempts_left, expires_at, created_at)
     select $1, i, i, i, '', 0, at, at from ${rows(size)}, lateral (select now() - interval '30 hours' as at) sent`,
  );
  // Incidents that were resolved, with a message to each user and many to the first.
  const ids = Array.from({ length: size }, (_, i) => uuidv7(past(i)));
  await run(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, context, options, due_at, created_at,
       deliveries, priority, dedup_key, outcome, acknowledged_at, resolved_at)
     select $1, id, 1, 1, 1, 'completed', '{}', '{}', now(), now(), 1, 2, 'k', 'resolved', now(), now() from unnest($2::uuid[]) id`,
    ids,
  );
  await run(
    `insert into responses (organization_id, occurrence_id, number, kind, at, by)
     select $1, id, 1, 'acknowledged', now(), 'u1' from unnest($2::uuid[]) id`,
    ids,
  );
  await run(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status, priority, due_at,
       sent_at, step)
     select $1, id, 1, 1, 1, case when i % 40 = 0 then 1 else i end, 'sent', 2, now(), $3::timestamptz, 1
     from unnest($2::uuid[]) with ordinality as ids (id, i)`,
    ids,
    new Date(past(0)),
  );
}

/** Adds an incident of this moment, with a message to the first user, who acknowledged it. */
export async function addIncident(pool: pg.Pool, organization: number): Promise<void> {
  const values = [organization, lowestUuidAt(Date.now() - 60_000)];
  await pool.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, context, options, due_at, created_at,
       deliveries, priority, dedup_key)
     values ($1, $2, 1, 1, 1, 'completed', '{}', '{}', now(), now(), 1, 2, 'k')`,
    values,
  );
  await pool.query(
    `insert into responses (organization_id, occurrence_id, number, kind, at, by) values ($1, $2, 1, 'acknowledged', now(), 'u1')`,
    values,
  );
  await pool.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status, priority, due_at,
       sent_at, step) values ($1, $2, 1, 1, 1, ${first}, 'sent', 2, now(), now(), 1)`,
    values,
  );
}
