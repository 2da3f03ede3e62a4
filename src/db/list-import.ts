/** Many people of a file at once. Everything is touched in the order of usernames, so that two of these never wait crosswise. */
import { sql } from 'kysely';
import type { ListRow } from '../core/list-file.ts';
import { searchKey } from '../core/search.ts';
import { addMissingAddresses, addMissingEmails } from './addresses.ts';
import type { Db } from './pool.ts';

export interface Imported {
  added: number;
  existing: number;
  created_users: number;
  updated_users: number;
}

/** Inside a transaction. What a row does not say stays as it is. */
export async function importMembers(
  db: Db,
  organizationId: number,
  listId: number,
  rows: ListRow[],
): Promise<Imported> {
  const people = JSON.stringify(
    rows.map(({ addresses: _, ...row }) => ({
      ...row,
      first_key: row.first_name === undefined ? undefined : searchKey(row.first_name),
      last_key: row.last_name === undefined ? undefined : searchKey(row.last_name),
    })),
  );
  const given = sql`json_to_recordset(${people}::json) as given (username text, email text, first_name text,
    last_name text, first_key text, last_key text, locale text, active boolean, custom_fields jsonb)`;
  const created = await sql`
    insert into users (organization_id, username, email, first_name, last_name, first_key, last_key, locale, custom_fields)
    select ${organizationId}, username, email, coalesce(first_name, ''), coalesce(last_name, ''), coalesce(first_key, ''),
      coalesce(last_key, ''), locale, coalesce(custom_fields, '{}')
    from ${given} order by username
    on conflict (organization_id, username) do nothing`.execute(db);
  const updated = await sql`
    update users u set
      first_name = coalesce(given.first_name, u.first_name), last_name = coalesce(given.last_name, u.last_name),
      first_key = coalesce(given.first_key, u.first_key), last_key = coalesce(given.last_key, u.last_key),
      locale = coalesce(given.locale, u.locale),
      custom_fields = u.custom_fields || coalesce(given.custom_fields, '{}'), updated_at = now()
    from ${given}
    where u.organization_id = ${organizationId} and u.username = given.username
      and (u.first_name, u.last_name, u.locale, u.custom_fields) is distinct from
        (coalesce(given.first_name, u.first_name), coalesce(given.last_name, u.last_name),
          coalesce(given.locale, u.locale), u.custom_fields || coalesce(given.custom_fields, '{}'))`.execute(db);
  await addMissingEmails(
    db,
    organizationId,
    rows.map(row => row.username),
  );
  const addresses = rows.flatMap(({ username, addresses: own }) => own.map(address => ({ username, ...address })));
  if (addresses.length > 0) await addMissingAddresses(db, organizationId, addresses);

  const of = sql`
    from ${given}
    join users u on u.organization_id = ${organizationId} and u.username = given.username
    join addresses a on a.organization_id = u.organization_id and a.user_id = u.id and a.name = 'email' and a.value = u.email`;
  const added = await sql`
    insert into members (organization_id, list_id, address_id, active)
    select u.organization_id, ${listId}, a.id, coalesce(given.active, true) ${of}
    order by a.id
    on conflict do nothing`.execute(db);
  await sql`
    update members m set active = wanted.active
    from (select a.id, given.active ${of} where given.active is not null) wanted
    where m.organization_id = ${organizationId} and m.list_id = ${listId} and m.address_id = wanted.id
      and m.active <> wanted.active`.execute(db);
  const count = (result: { numAffectedRows?: bigint }) => Number(result.numAffectedRows ?? 0);
  return {
    added: count(added),
    existing: rows.length - count(added),
    created_users: count(created),
    updated_users: count(updated),
  };
}

export interface ExportedMember {
  id: number;
  email: string;
  first_name: string;
  last_name: string;
  locale: string | null;
  active: boolean;
  custom_fields: Record<string, unknown>;
  addresses: { name: string; value: string }[];
}

/** With all that a file says of them, in the order of their ids. */
export async function listMembersToExport(
  db: Db,
  organizationId: number,
  listId: number,
  page: { after: number; limit: number },
): Promise<ExportedMember[]> {
  const { rows } = await sql<ExportedMember>`
    select m.id, u.email, u.first_name, u.last_name, u.locale, m.active, u.custom_fields,
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

/** Names of the addresses and of the custom fields that its members have: each becomes a column. */
export async function listExportColumns(
  db: Db,
  organizationId: number,
  listId: number,
): Promise<{ addresses: string[]; custom: string[] }> {
  const { rows } = await sql<{ addresses: string[]; custom: string[] }>`
    with people as materialized (
      select u.id, u.email, u.custom_fields from members m
      join addresses a on a.organization_id = m.organization_id and a.id = m.address_id
      join users u on u.organization_id = a.organization_id and u.id = a.user_id
      where m.organization_id = ${organizationId} and m.list_id = ${listId}
    )
    select
      array(select distinct o.name collate "C" from people p join addresses o
        on o.organization_id = ${organizationId} and o.user_id = p.id
        where not (o.name = 'email' and o.value = p.email) order by 1) as addresses,
      array(select distinct key collate "C" from people p, jsonb_object_keys(p.custom_fields) as key order by 1) as custom`.execute(
    db,
  );
  return rows[0]!;
}
