/**
 * Imports and exports the members of a list in bulk. Rows are written in the order of usernames, so that two imports
 * never deadlock. The planner's statistics do not include the rows that this transaction adds, nor those of a new organization:
 * for a lookup per row, any index that begins with the organization looks as good as the right one. Therefore all rows of a
 * statement are looked up at once by an array, which at worst reads the organization once, and `prepareForGrowth` rules out
 * nested loops.
 */
import { type RawBuilder, sql } from 'kysely';
import type { ListRow } from '../../core/audience/list-file.ts';
import { searchKey } from '../../core/audience/search.ts';
import { categoryScope, everything, generalSlug } from '../../core/decision/preferences.ts';
import type { Db } from '../connection/pool.ts';
import { addMissingAddresses } from './addresses.ts';

export interface ImportCounts {
  added: number;
  existing: number;
  created_users: number;
  updated_users: number;
}

interface ImportedUser {
  id: number;
  username: string;
  email: string;
  /** Whether this import has created it; false also if another transaction did. */
  isNew: boolean;
}

/** Fields that a row does not contain are left unchanged. Must run inside a transaction. */
export async function importMembers(
  db: Db,
  organizationId: number,
  listId: number,
  rows: ListRow[],
): Promise<ImportCounts> {
  const { created, updated, users } = await putUsers(db, organizationId, rows);
  const emails = await putEmails(db, organizationId, users);
  const addresses = rows.flatMap(({ username, addresses: own }) => own.map(address => ({ username, ...address })));
  if (addresses.length > 0) await addMissingAddresses(db, organizationId, addresses);
  const added = await putMembers(db, organizationId, listId, rows, emails);
  return {
    added,
    existing: rows.length - added,
    created_users: created,
    updated_users: updated,
  };
}

async function putUsers(
  db: Db,
  organizationId: number,
  rows: ListRow[],
): Promise<{ created: number; updated: number; users: ImportedUser[] }> {
  const usernames = rows.map(row => row.username);
  const input = rows.map(({ addresses: _, active: __, opt_out: ___, ...row }) => ({
    ...row,
    first_key: row.first_name === undefined ? undefined : searchKey(row.first_name),
    last_key: row.last_name === undefined ? undefined : searchKey(row.last_name),
  }));
  const { rows: done } = await sql<Omit<ImportedUser, 'isNew'> & { created: boolean | null }>`
    with known as materialized (
      select * from users where organization_id = ${organizationId} and username = any(${usernames}::text[])
      order by username for no key update
    ), put as (
      insert into users as u (organization_id, username, email, first_name, last_name, first_key, last_key, locale,
        custom_fields)
      select ${organizationId}, given.username, coalesce(now.email, given.email), merged.*
      from json_to_recordset(${JSON.stringify(input)}::json) as given (username text, email text, first_name text,
        last_name text, first_key text, last_key text, locale text, custom_fields jsonb)
      left join known now on now.username = given.username
      cross join lateral (
        select coalesce(given.first_name, now.first_name, '') as first_name,
          coalesce(given.last_name, now.last_name, '') as last_name, coalesce(given.first_key, now.first_key, ''),
          coalesce(given.last_key, now.last_key, ''), coalesce(given.locale, now.locale) as locale,
          coalesce(now.custom_fields, '{}') || coalesce(given.custom_fields, '{}') as custom_fields
      ) merged
      -- Most rows of a file that is imported again change nothing.
      where now.id is null or (merged.first_name, merged.last_name, merged.locale, merged.custom_fields)
        is distinct from (now.first_name, now.last_name, now.locale, now.custom_fields)
      order by given.username collate "C"
      on conflict (organization_id, username) do update set
        first_name = excluded.first_name, last_name = excluded.last_name, first_key = excluded.first_key,
        last_key = excluded.last_key, locale = excluded.locale, custom_fields = excluded.custom_fields, updated_at = now()
      where (u.first_name, u.last_name, u.locale, u.custom_fields)
        is distinct from (excluded.first_name, excluded.last_name, excluded.locale, excluded.custom_fields)
      returning u.id, u.username, u.email, u.xmax = 0 as created
    )
    select id, username, email, null as created from known union all select id, username, email, created from put`.execute(
    db,
  );
  const users = new Map(done.map(({ created, ...user }) => [user.username, { ...user, isNew: created === true }]));
  // Another transaction has created them meanwhile, with the same fields.
  const missing = usernames.filter(username => !users.has(username));
  const others = missing.length === 0 ? [] : await findUsersByName(db, organizationId, missing);
  return {
    created: done.filter(one => one.created === true).length,
    updated: done.filter(one => one.created === false).length,
    users: [...users.values(), ...others],
  };
}

async function findUsersByName(db: Db, organizationId: number, usernames: string[]): Promise<ImportedUser[]> {
  const { rows } = await sql<ImportedUser>`
    select id, username, email, false as "isNew" from users
    where organization_id = ${organizationId} and username = any(${usernames}::text[])`.execute(db);
  return rows;
}

/** Ensures that users have an address with their own email, and returns the ids of these addresses by username. */
async function putEmails(db: Db, organizationId: number, users: ImportedUser[]): Promise<Map<string, number>> {
  const ids = new Map<number, number>();
  const known = new Map(users.filter(({ isNew }) => !isNew).map(({ id, email }) => [id, email]));
  const findKnown = async () => {
    const found = await sql<{ id: number; user_id: number; value: string }>`
      select id, user_id, value from addresses
      where organization_id = ${organizationId} and user_id = any(${[...known.keys()]}::bigint[]) and name = 'email'`.execute(
      db,
    );
    for (const { id, user_id, value } of found.rows) if (known.get(user_id) === value) ids.set(user_id, id);
  };
  if (known.size > 0) await findKnown();
  const missing = users.filter(({ id }) => !ids.has(id));
  const added = await sql<{ id: number; user_id: number }>`
    insert into addresses (organization_id, user_id, name, value)
    select ${organizationId}, id, 'email', email
    from unnest(${missing.map(user => user.id)}::bigint[], ${missing.map(user => user.email)}::text[]) as given (id, email)
    order by id
    on conflict do nothing
    returning id, user_id`.execute(db);
  for (const { id, user_id } of added.rows) ids.set(user_id, id);
  // Another transaction has added them meanwhile.
  if (ids.size < users.length) await findKnown();
  return new Map(users.map(({ id, username }) => [username, ids.get(id)!]));
}

/** Adds the users' own email addresses as members. Only a row that says whether it is active changes a member. */
async function putMembers(
  db: Db,
  organizationId: number,
  listId: number,
  rows: ListRow[],
  emails: ReadonlyMap<string, number>,
): Promise<number> {
  const { deciding = [], others = [] } = Object.groupBy(rows, ({ active }) =>
    active === undefined ? 'others' : 'deciding',
  );
  const put = async (some: ListRow[], onConflict: RawBuilder<unknown>) => {
    if (some.length === 0) return 0;
    const ids = some.map(({ username }) => emails.get(username)!);
    const result = await sql<{ created: boolean }>`
      insert into members as m (organization_id, list_id, address_id, active)
      select ${organizationId}, ${listId}, id, active
      from unnest(${ids}::bigint[], ${some.map(({ active = true }) => active)}::boolean[]) as given (id, active)
      on conflict (organization_id, list_id, address_id) do ${onConflict}
      returning m.xmax = 0 as created`.execute(db);
    // An updated row was locked in this transaction, so its `xmax` is not 0.
    return result.rows.filter(({ created }) => created).length;
  };
  const changing = sql`update set active = excluded.active where m.active <> excluded.active`;
  return (await put(deciding, changing)) + (await put(others, sql`nothing`));
}

interface ExportedMember {
  id: number;
  email: string;
  first_name: string;
  last_name: string;
  locale: string | null;
  active: boolean;
  /** `all` or category slugs that the user switched off on every channel. */
  opt_out: string[];
  custom_fields: Record<string, unknown>;
  addresses: { name: string; value: string }[];
}

/** Lists members with all columns of the export, in the order of ids. */
export async function listMembersToExport(
  db: Db,
  organizationId: number,
  listId: number,
  page: { after: number; limit: number },
): Promise<ExportedMember[]> {
  const { rows } = await sql<ExportedMember>`
    select m.id, u.email, u.first_name, u.last_name, u.locale, m.active, u.custom_fields,
      array(
        select case when p.scope = ${everything} then 'all' else known.slug end from preferences p
        left join (
          select slug from categories where organization_id = ${organizationId} union select ${generalSlug}
        ) known on p.scope = ${categoryScope('')} || known.slug
        where p.organization_id = u.organization_id and p.user_id = u.id and p.channel_type = '' and not p.enabled
          and (p.scope = ${everything} or known.slug is not null)
        order by p.scope desc
      ) as opt_out,
      coalesce((
        select jsonb_agg(jsonb_build_object('name', o.name, 'value', o.value) order by o.id) from addresses o
        where o.organization_id = u.organization_id and o.user_id = u.id and not (o.name = 'email' and o.value = u.email)
      ), '[]') as addresses
    from members m
    cross join lateral (
      select user_id, value from addresses
      where organization_id = ${organizationId} and id = m.address_id and name = 'email' limit 1
    ) a
    cross join lateral (
      select * from users where organization_id = ${organizationId} and id = a.user_id and email = a.value limit 1
    ) u
    where m.organization_id = ${organizationId} and m.list_id = ${listId} and m.id > ${page.after}
    order by m.id limit ${page.limit}`.execute(db);
  return rows;
}

/** Returns the names of all addresses and custom fields of the members: each becomes a column of the export. */
export async function listExportColumns(db: Db, organizationId: number, listId: number) {
  const { rows } = await sql<{ addresses: string[]; custom: string[] }>`
    with listed as materialized (
      select u.id, u.email, u.custom_fields from members m
      join addresses a on a.organization_id = m.organization_id and a.id = m.address_id
      join users u on u.organization_id = a.organization_id and u.id = a.user_id
      where m.organization_id = ${organizationId} and m.list_id = ${listId}
    )
    select
      array(select distinct o.name collate "C" from listed l join addresses o
        on o.organization_id = ${organizationId} and o.user_id = l.id
        where not (o.name = 'email' and o.value = l.email) order by 1) as addresses,
      array(select distinct key collate "C" from listed l, jsonb_object_keys(l.custom_fields) as key order by 1) as custom`.execute(
    db,
  );
  return rows[0]!;
}
