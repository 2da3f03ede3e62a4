/**
 * Detects whether a database is the one that Belfry used before or a copy of it, restored from a backup or cloned. A copy
 * does not contain what the original has sent since, so sending is paused until an operator decides.
 *
 * | cause                                          | difference                          | result                        |
 * | ---------------------------------------------- | ----------------------------------- | ----------------------------- |
 * | dump and restore, logical replication          | the transaction or table of the row | pause                         |
 * | `createdb --template`                          | the database's oid                  | pause                         |
 * | another server altogether                      | its system identifier               | pause                         |
 * | `pg_upgrade`                                   | the same, with a newer major version | continue                     |
 * | copied files of the embedded database          | creation time of the files          | pause                         |
 * | files moved within their file system           | nothing                             | continue                      |
 * | a standby is promoted                          | the timeline                        | continue, if used recently    |
 * | point-in-time recovery                         | the timeline                        | pause, if not used recently   |
 * | either of them, with changes missing           | the row is older than a process has seen it | pause                 |
 * | the address changes (proxy, name, move)        | the address                         | as with the timeline; continue while other workers use it |
 * | a snapshot of a disk, cloned                   | address or BELFRY_INSTANCE          | pause                         |
 */

/** Identity of a database, as the database reports it. */
export interface DatabaseFacts {
  relation: number;
  database: number;
  /** Null when the role has no permission to read it. */
  system: string | null;
  server_major: number;
  timeline: number | null;
}

/** Identity of a database, as the process that connects to it sees it. */
export interface ConnectionFacts {
  /** BELFRY_INSTANCE. */
  name?: string | undefined;
  /** One for each server that DATABASE_URL names. Absent for the embedded database, whose port and folder may change. */
  addresses?: readonly string[] | undefined;
  /** Creation time of the embedded database's files, where the file system records it. */
  filesMadeAt?: number | undefined;
}

/** The stored identity of the database Belfry last worked on. */
export interface RecordedInstance extends DatabaseFacts {
  /** Whether the row is the one that Belfry wrote, and not a copy of it. */
  isOwnRow: boolean;
  addresses: readonly string[];
  name: string | null;
  filesMadeAt: number | null;
  /** The transaction that last changed the row. */
  xid: number;
}

interface InstanceActivity {
  /** Time since any process last reported that it uses this database. */
  silentMs: number;
  /** Whether workers are currently using it. */
  isInUse: boolean;
  /** The last change of the row that this process has seen. Undefined when it has just started. */
  seenXid?: number | undefined;
}

/** The texts follow "sending is paused because ". */
export const pauseReasons = {
  restored: 'the database was restored from a backup, or copied row by row',
  cloned: 'the database is a clone of another one',
  server: 'the database is on a different PostgreSQL server than before',
  files: 'the files of the embedded database were copied or restored',
  name: 'BELFRY_INSTANCE names a different installation than the one this database belongs to',
  rewound: 'the database lacks recent changes: it was restored, or a standby that had not received them took over',
  timeline: 'another PostgreSQL server took over while Belfry was not running: a promoted standby, or a backup',
  address: 'the address of the database has changed, and no Belfry process has used it recently',
} as const;

export type PauseReason = keyof typeof pauseReasons;

/** Longer than a failover takes. After a longer silence the database may be a restored one. */
export const maxSilenceMs = 300_000;

/** Returns why sending must pause, or undefined when it is the same database. */
export function findDifference(
  recorded: RecordedInstance,
  present: DatabaseFacts,
  { name, addresses = [], filesMadeAt }: ConnectionFacts,
  { silentMs, isInUse, seenXid = 0 }: InstanceActivity,
): PauseReason | undefined {
  if (!recorded.isOwnRow || recorded.relation !== present.relation) return 'restored';
  if (recorded.database !== present.database) return 'cloned';
  // pg_upgrade creates a new server identity and keeps the databases.
  if (differ(recorded.system, present.system) && present.server_major <= recorded.server_major) return 'server';
  if (differ(recorded.filesMadeAt, filesMadeAt)) return 'files';
  if (differ(recorded.name, name)) return 'name';
  if (recorded.xid < seenXid) return 'rewound';
  const isKnown = addresses.length === 0 || addresses.some(address => recorded.addresses.includes(address));
  const isElsewhere = recorded.addresses.length > 0 && !isKnown && !isInUse;
  const isUpgraded = present.server_major !== recorded.server_major;
  const isAfterTakeover = !isUpgraded && differ(recorded.timeline, present.timeline);
  if (isAfterTakeover && (isElsewhere || silentMs > maxSilenceMs)) return 'timeline';
  if (isElsewhere && silentMs > maxSilenceMs) return 'address';
  return undefined;
}

/** A value that is unknown on either side never counts as a difference. */
function differ<T>(one: T | null | undefined, other: T | null | undefined): boolean {
  return one != null && other != null && one !== other;
}
