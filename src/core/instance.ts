/**
 * Whether a database is the one that Belfry worked on before, or a copy of it: restored from a backup, or cloned. A copy
 * knows nothing of what the original has sent since, so nothing is sent from it until an operator has said which it is.
 *
 * | what happened                                  | what differs                        | then                          |
 * | ---------------------------------------------- | ----------------------------------- | ----------------------------- |
 * | dump and restore, logical replication          | the transaction or table of the row | pause                         |
 * | `createdb --template`                          | the database's oid                  | pause                         |
 * | another server altogether                      | its system identifier               | pause                         |
 * | `pg_upgrade`                                   | the same, with a newer major version | go on                        |
 * | copied files of the embedded database          | when the files were made            | pause                         |
 * | files moved within their file system           | nothing                             | go on                         |
 * | a standby is promoted                          | the timeline                        | go on, if seen a moment ago   |
 * | point-in-time recovery                         | the timeline                        | pause, if not seen for a while |
 * | the address changes (proxy, name, move)        | the address                         | as with the timeline, or go on while others work on it |
 * | a snapshot of a disk, cloned                   | address or BELFRY_INSTANCE          | pause                         |
 */

/** What can be asked of the database itself. */
export interface DatabaseFacts {
  relation: number;
  database: number;
  /** Null where it may not be asked. */
  system: string | null;
  server_major: number;
  timeline: number | null;
}

/** What a process knows from outside. */
export interface Surroundings {
  /** BELFRY_INSTANCE. */
  name?: string | undefined;
  /** Undefined for the embedded database, whose port and folder may change. */
  address?: string | undefined;
  /** Of the embedded database: when its files were made, where the file system tells. */
  filesMadeAt?: number | undefined;
}

/** As it was when it was last recognised. */
export interface RecordedInstance extends DatabaseFacts {
  /** Whether the row is the one that Belfry wrote, and not a copy of it. */
  isOwnRow: boolean;
  addresses: readonly string[];
  name: string | null;
  filesMadeAt: number | null;
}

export interface Circumstances {
  /** For how long no process has said that it works on this database, as far as this one can tell. */
  silentMs: number;
  /** Whether workers are at work on it. */
  isInUse: boolean;
}

/** The texts follow "sending is paused because ". */
export const pauseReasons = {
  restored: 'the database was restored from a backup, or copied row by row',
  cloned: 'the database is a clone of another one',
  server: 'the database is on another PostgreSQL server than before',
  files: 'the files of the embedded database were copied or restored',
  name: 'BELFRY_INSTANCE names another installation than the one this database belongs to',
  timeline: 'another PostgreSQL server took over after Belfry had been away: a promoted standby, or a backup',
  address: 'the database has another address than before, and no process of Belfry worked on it lately',
} as const;

export type PauseReason = keyof typeof pauseReasons;

/** Longer than a failover takes. Nothing older than this is taken for the state of a moment ago. */
export const longestSilenceMs = 300_000;

/** Undefined: it is the same. */
export function findDifference(
  recorded: RecordedInstance,
  present: DatabaseFacts,
  { name, address, filesMadeAt }: Surroundings,
  { silentMs, isInUse }: Circumstances,
): PauseReason | undefined {
  if (!recorded.isOwnRow || recorded.relation !== present.relation) return 'restored';
  if (recorded.database !== present.database) return 'cloned';
  // pg_upgrade makes a new server, and keeps everything of its databases.
  if (differ(recorded.system, present.system) && present.server_major <= recorded.server_major) return 'server';
  if (differ(recorded.filesMadeAt, filesMadeAt)) return 'files';
  if (differ(recorded.name, name)) return 'name';
  const isElsewhere =
    address !== undefined && recorded.addresses.length > 0 && !recorded.addresses.includes(address) && !isInUse;
  const isUpgraded = present.server_major !== recorded.server_major;
  const isAfterTakeover = !isUpgraded && differ(recorded.timeline, present.timeline);
  if (isAfterTakeover && (isElsewhere || silentMs > longestSilenceMs)) return 'timeline';
  if (isElsewhere && silentMs > longestSilenceMs) return 'address';
  return undefined;
}

/** What is not known on one side tells nothing. */
function differ<T>(one: T | null | undefined, other: T | null | undefined): boolean {
  return one != null && other != null && one !== other;
}

/** Host, port and name of a database, without user and password. */
export function addressOf(databaseUrl: string): string {
  const { hostname, port, pathname, searchParams } = new URL(databaseUrl);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return `${host}:${searchParams.get('port') ?? (port || '5432')}${decodeURIComponent(pathname)}`;
}
