/**
 * Whom Belfry signs in as on the embedded server: the owner of its database, and no superuser, who could run programs
 * and read files on the machine. The superuser keeps no password, so nobody signs in as it over the network; the
 * server's single-user mode is open to whoever owns the files.
 */
export const role = 'belfry_app';
/** Made by initdb, and the one that Belfry of before signed in as. */
export const superuser = 'belfry';

/** One statement a line, as the single-user mode reads them. Passwords are of letters, digits, dashes and underscores. */
export function statementsFor(password: string): string[] {
  return [
    `do $$ begin if to_regrole('${role}') is null then create role ${role}; end if; end $$`,
    // Rounds make it slow to guess a password that somebody has thought up. This one is random, and each connection would
    // wait for them: a third of its time, and more than half of ours.
    'set scram_iterations = 1',
    // Databases are made by tests, and the two grants let an operator watch the server and back it up.
    `alter role ${role} with login nosuperuser createdb password '${password}'`,
    `grant pg_monitor, pg_checkpoint to ${role}`,
    `alter role ${superuser} password null`,
  ];
}

/** Gives it everything in this database that the superuser made. `reassign owned` refuses to, as that one owns PostgreSQL's own. */
export function handOver(): string[] {
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
