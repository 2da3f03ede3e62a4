/**
 * Imports and exports the members of a list in bulk. Rows are written in the order of usernames, so that two imports
 * never deadlock. `limit 1` forces one index lookup per row: the planner's statistics do not yet include the rows that
 * this transaction adds, so it would choose a bad join.
 */
import { sql } from 'kysely';
import type { ListRow } from '../../core/audience/list-file.ts';
import { searchKey } from '../../core/audience/search.ts';
import { categoryScope, everything, generalSlug } from '../../core/decision/preferences.ts';
import type { Db } from '../connection/pool.ts';
import { addMissingAddresses, addMissingEmails } from './addresses.ts';

export interface ImportCounts {
  added: number;
  existing: number;
  created_users: number;
  updated_users: number;
}

interface UpsertCounts {
  created: number;
  updated: number;
}

/** Fields that a row does not contain are left unchanged. Must run inside a transaction. */
export async function importMembers(
  db: Db,
  organizationId: number,
  listId: number,
  rows: ListRow[],
): Promise<ImportCounts> {
  const users = await putUsers(db, organizationId, rows);
  const usernames = rows.map(row => row.username);
  await addMissingEmails(db, organizationId, usernames);
  const addresses = rows.flatMap(({ username, addresses: own }) => own.map(address => ({ username, ...address })));
  if (addresses.length > 0) await addMissingAddresses(db, organizationId, addresses);
  const members = await putMembers(db, organizationId, listId, rows);
  return {
    added: members.created,
    existing: rows.length - members.created,
    created_users: users.created,
    updated_users: users.updated,
  };
}

async function putUsers(db: Db, organizationId: number, rows: ListRow[]): Promise<UpsertCounts> {
  const input = rows.map(({ addresses: _, active: __, opt_out: ___, ...row }) => ({
    ...row,
    first_key: row.first_name === undefined ? undefined : searchKey(row.first_name),
    last_key: row.last_name === undefined ? undefined : searchKey(row.last_name),
  }));
  const done = await sql<UpsertCounts>`
    with put as (
      insert into users as u (organization_id, username, email, first_name, last_name, first_key, last_key, locale,
        custom_fields)
      select ${organizationId}, given.username, coalesce(now.email, given.email),
        coalesce(given.first_name, now.first_name, ''), coalesce(given.last_name, now.last_name, ''),
        coalesce(given.first_key, now.first_key, ''), coalesce(given.last_key, now.last_key, ''),
        coalesce(given.locale, now.locale),
        coalesce(now.custom_fields, '{}') || coalesce(given.custom_fields, '{}')
      from json_to_recordset(${JSON.stringify(input)}::json) as given (username text, email text, first_name text,
        last_name text, first_key text, last_key text, locale text, custom_fields jsonb)
      left join lateral (
        select * from users where organization_id = ${organizationId} and username = given.username
        limit 1 for no key update
      ) now on true
      on conflict (organization_id, username) do update set
        first_name = excluded.first_name, last_name = excluded.last_name, first_key = excluded.first_key,
        last_key = excluded.last_key, locale = excluded.locale, custom_fields = excluded.custom_fields, updated_at = now()
      where (u.first_name, u.last_name, u.locale, u.custom_fields)
        is distinct from (excluded.first_name, excluded.last_name, excluded.locale, excluded.custom_fields)
      returning u.xmax = 0 as created
    ) ${upsertCounts}`.execute(db);
  return done.rows[0]!;
}

async function putMembers(db: Db, organizationId: number, listId: number, rows: ListRow[]): Promise<UpsertCounts> {
  const input = rows.map(({ username, active }) => ({ username, active }));
  const done = await sql<UpsertCounts>`
    with put as (
      insert into members as m (organization_id, list_id, address_id, active)
      select ${organizationId}, ${listId}, a.id, coalesce(given.active, now.active, true)
      from json_to_recordset(${JSON.stringify(input)}::json) as given (username text, active boolean)
      cross join lateral (
        select id, email from users where organization_id = ${organizationId} and username = given.username limit 1
      ) u
      cross join lateral (
        select id from addresses
        where organization_id = ${organizationId} and user_id = u.id and name = 'email' and value = u.email limit 1
      ) a
      left join lateral (
        -- "+ 0" leaves only the index by address: a list that is new to the statistics looks empty, and would be read per line.
        select active from members
        where organization_id = ${organizationId} and address_id = a.id and list_id + 0 = ${listId} limit 1
      ) now on true
      on conflict (organization_id, list_id, address_id) do update set active = excluded.active
      where m.active <> excluded.active
      returning m.xmax = 0 as created
    ) ${upsertCounts}`.execute(db);
  return done.rows[0]!;
}

/** Distinguishes inserted from updated rows: an updated row was locked in this transaction, so its `xmax` is not 0. */
const upsertCounts = sql`
  select count(*) filter (where created)::int as created, count(*) filter (where not created)::int as updated from put`;

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
    join addresses a on a.organization_id = m.organization_id and a.id = m.address_id and a.name = 'email'
    join users u on u.organization_id = a.organization_id and u.id = a.user_id and u.email = a.value
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
