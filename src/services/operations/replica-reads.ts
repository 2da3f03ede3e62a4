/**
 * Decides which reads go to a replica. Callers always see their own changes: a change is announced to all processes before it
 * is answered, and each process first handles the announcements that were sent before a read.
 *
 * Keys that may trigger events always read the primary, so that the path of a trigger announces nothing. Recipients do too.
 */
import type { Grant } from '../../core/identity/permissions.ts';
import type { Listener } from '../../db/connection/listen.ts';
import type { Database, Db } from '../../db/connection/pool.ts';
import {
  announceWriter,
  maxStalenessMs,
  type ReadSource,
  type ReplicaLog,
  Replicas,
  steadyNow,
} from '../../db/connection/replicas.ts';

const maxCallers = 10_000;

export interface ReadingCaller {
  kind: 'key' | 'account' | 'recipient';
  id: string;
  grant: Grant;
}

export class ReplicaReads {
  readonly replicas: Replicas;
  readonly #catchUp: () => Promise<boolean>;
  /** When each caller last changed something; forgotten after `maxStalenessMs`, when every replica in use contains it. */
  readonly #writtenAt = new Map<string, number>();
  /** Announcements before this time may have been missed. */
  #missedUntil = -Infinity;

  /** `catchUp` returns false if announcements may have been missed. */
  constructor(replicas: Replicas, catchUp: () => Promise<boolean>) {
    this.replicas = replicas;
    this.#catchUp = catchUp;
  }

  /** `pageSince`: the time of the first page, if this is a later one; `Infinity` if that is unknown. */
  async open(caller: ReadingCaller, pageSince = -Infinity): Promise<ReadSource | undefined> {
    const name = nameOf(caller);
    if (!name) return undefined;
    if (!(await this.#catchUp())) return this.replicas.fallBack('announcements');
    const written = Math.max(this.#writtenAt.get(name) ?? -Infinity, this.#missedUntil);
    const cause = written >= pageSince ? 'written' : 'page';
    return this.replicas.open(Math.max(written, pageSince), preferenceOf(name), cause);
  }

  /** Call it after a change was committed and before it is answered. */
  async announceWrite({ db }: { db: Db }, caller: ReadingCaller): Promise<void> {
    const name = nameOf(caller);
    if (!name) return;
    this.handleAnnouncement(name);
    // If the database is lost at this moment, so is the connection on which the other processes listen.
    await announceWriter(db, name).catch(() => {});
  }

  handleAnnouncement(name: string): void {
    if (!/^(key|account) [\w-]{1,64}$/.test(name)) return;
    const now = steadyNow();
    // In the order of their times, so that the oldest come first.
    this.#writtenAt.delete(name);
    this.#writtenAt.set(name, now);
    for (const [oldest, at] of this.#writtenAt) {
      if (at > now - maxStalenessMs) break;
      this.#writtenAt.delete(oldest);
    }
    if (this.#writtenAt.size > maxCallers) this.handleConnected();
  }

  /** Forgets who changed something, and waits until the replicas contain everything. */
  handleConnected(): void {
    this.#missedUntil = steadyNow();
    this.#writtenAt.clear();
  }
}

/** Returns undefined without replicas, and for a worker, which reads nothing that may be old. */
export function openReplicaReads(
  { replicaUrl: urls, role }: { replicaUrl: string | undefined; role: string },
  primary: Database,
  log: ReplicaLog,
  listener: () => Listener,
): ReplicaReads | undefined {
  if (!urls || role === 'worker') return undefined;
  const replicas = new Replicas({
    urls,
    primary,
    log,
    askPrimary: async text => (await listener().startReads().query(text)).rows,
  });
  return new ReplicaReads(replicas, () => listener().catchUp());
}

/** Returns undefined for a caller who always reads the primary. */
function nameOf({ kind, id, grant }: ReadingCaller): string | undefined {
  if (id === '' || kind === 'recipient' || (kind === 'key' && grant.allowsRoute('event:trigger'))) return undefined;
  return `${kind} ${id}`;
}

function preferenceOf(name: string): number {
  return [...name].reduce((sum, character) => sum + character.codePointAt(0)!, 0);
}
