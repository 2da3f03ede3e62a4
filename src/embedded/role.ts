/**
 * The role that Belfry signs in as on the embedded server: the owner of its database, not a superuser, which could run
 * programs and read files on the machine. The superuser has no password, so it cannot sign in over the network; the
 * server's single-user mode remains available to the owner of the files.
 */
export const role = 'belfry_app';
/** Created by initdb. Older versions of Belfry signed in as this role. */
export const superuser = 'belfry';

/** Returns one statement per line, as single-user mode needs. Passwords contain only letters, digits, dashes and underscores. */
export function roleStatements(password: string): string[] {
  return [
    `do $$ begin if to_regrole('${role}') is null then create role ${role}; end if; end $$`,
    // Iterations protect passwords that can be guessed. This one is random, and they would take a third of the time of
    // each connection, and more than half of our own.
    'set scram_iterations = 1',
    // Tests create databases; the two grants let an operator monitor the server and back it up.
    `alter role ${role} with login nosuperuser createdb password '${password}'`,
    `grant pg_monitor, pg_checkpoint to ${role}`,
    `alter role ${superuser} password null`,
  ];
}

/** Gives the role everything that the superuser created in this database. `reassign owned` fails for system objects. */
export function ownershipStatements(): string[] {
  const own = (catalogue: string) => `${catalogue}owner = '${superuser}'::regrole`;
  const user = (catalogue: string) => `${catalogue}namespace = 'public'::regnamespace`;
  const isPart = `exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i') and c.relkind = 'S')`;
  return [
    `alter database belfry owner to ${role}`,
    each(
      `select case relkind when 'S' then 'sequence ' when 'v' then 'view ' else 'table ' end || c.oid::regclass as thing from pg_class c where ${own('rel')} and ${user('rel')} and relkind in ('r', 'p', 'S', 'v') and not ${isPart}`,
    ),
    each(`select 'routine ' || oid::regprocedure as thing from pg_proc where ${own('pro')} and ${user('pro')}`),
    each(
      `select 'type ' || oid::regtype as thing from pg_type where ${own('typ')} and ${user('typ')} and typtype in ('d', 'e', 'r')`,
    ),
  ];
}

function each(query: string): string {
  return `do $$ declare one record; begin for one in ${query} loop execute 'alter ' || one.thing || ' owner to ${role}'; end loop; end $$`;
}
