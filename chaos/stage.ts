/**
 * The environment of a scenario: a temporary, durable PostgreSQL, the real service in its own processes, a sink in another process,
 * and one tenant. Everything that is started here is also stopped here.
 */
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { waitFor } from '../test/support/eventually.ts';
import { cleanEnv, killDatabase, postmasterPid, type Running, root, startBelfry } from '../test/support/process.ts';
import { findMistakes } from '../test/support/sink-ledger.ts';
import { runSql } from '../test/support/sql.ts';
import { type Facts, keyOf, type Ledger, type Receipt, settleLedger } from './ledger.ts';
import { Skipped } from './scenario.ts';
import { configure, configureBy, runCommand, secretKey } from './set-up.ts';
import type { SinkMode } from './sink.ts';
import { describeTenants, type TenantOptions } from './tenant.ts';

export interface StageOptions extends TenantOptions {
  recipients: number;
  /** How long the sink takes to respond. */
  sinkMs?: number;
  /** Processes to start with. */
  roles: Role[];
  /** Folder of another version, which sets up the database and starts these processes. */
  program?: string;
  /** A command that executes the service, such as one that sets limits. */
  prefix?: readonly string[];
  /** Size of the disk of PostgreSQL, in memory. Default: the disk of this machine. */
  diskMb?: number;
  /** Opens another database than the embedded one, in this folder. */
  openDatabase?: (dataDir: string) => Promise<{ url: string; release(): Promise<void> }>;
}

type Role = 'all' | 'api' | 'worker';

export interface LeftBehind {
  keys: ReadonlySet<string>;
  at: number;
}

export interface Settled extends Pick<Facts, 'scenario' | 'accepted' | 'expectedToo' | 'faultAt' | 'faultOverAt'> {
  /** The database that has the occurrences in the end, if it is another one. */
  ownerUrl?: string;
  /** Set if a process died. Otherwise no message may arrive twice, unless its response was withheld. */
  leftBehind?: LeftBehind;
  /** What arrived, if it was not at the sink, and which recipients must get each message, if not all. */
  received?: readonly Receipt[];
  recipients?: readonly string[];
  /** Guarantees that the scenario has found broken. */
  broken?: readonly string[];
  /** How long to wait until no work is left. */
  waitMs?: number;
}

/** Workers whose lease is held: see src/db/ledger/workers.ts. */
const living = `select objid::bigint from pg_locks where locktype = 'advisory' and classid = ${0x62656c66} and granted
  and database = (select oid from pg_database where datname = current_database())`;
const defaultWaitMs = 90_000;
const run = promisify(execFile);

export class Stage {
  readonly url: string;
  /** API keys by organization. */
  readonly keys: ReadonlyMap<string, string>;
  readonly processes: { role: Role; running: Running }[] = [];
  readonly recipients: string[];
  /** Additional environment variables of processes that are started from now on. */
  readonly environment: Record<string, string> = {};
  readonly #dataDir: string;
  readonly #prefix: readonly string[];
  readonly #release: () => Promise<void>;
  readonly #sink: ChildProcess;
  readonly #sinkUrl: string;

  private constructor(parts: {
    url: string;
    keys: ReadonlyMap<string, string>;
    recipients: string[];
    dataDir: string;
    prefix: readonly string[];
    release: () => Promise<void>;
    sink: ChildProcess;
    sinkUrl: string;
  }) {
    this.url = parts.url;
    this.keys = parts.keys;
    this.recipients = parts.recipients;
    this.#dataDir = parts.dataDir;
    this.#prefix = parts.prefix;
    this.#release = parts.release;
    this.#sink = parts.sink;
    this.#sinkUrl = parts.sinkUrl;
  }

  static async open(options: StageOptions): Promise<Stage> {
    const {
      recipients: size,
      sinkMs = 10,
      roles,
      program = root,
      prefix = [],
      diskMb,
      openDatabase,
      ...more
    } = options;
    const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-chaos-'));
    if (diskMb) await mountDisk(dataDir, diskMb);
    const { url, release: releaseDatabase } = await (openDatabase?.(dataDir) ??
      openEmbedded({ dataDir, durable: true }));
    const release = async () => {
      await releaseDatabase();
      if (diskMb) await run('umount', [dataDir]);
    };
    const { sink, sinkUrls } = await openSink(sinkMs);
    const recipients = Array.from({ length: size }, (_, i) => `p${i}@chaos.test`);
    const document = describeTenants(recipients, sinkUrls, more);
    const organizations = ['chaos', ...(options.organizations ?? [])];
    const keys = await (program === root
      ? configure(url, document, organizations)
      : configureBy(program, url, document));
    const stage = new Stage({ url, keys, recipients, dataDir, prefix, release, sink, sinkUrl: sinkUrls[0] });
    const started = await Promise.allSettled(roles.map(role => stage.start(role, program)));
    const failed = started.find(each => each.status === 'rejected');
    if (!failed) return stage;
    await stage.close();
    throw failed.reason;
  }

  async start(role: Role, program = root): Promise<Running> {
    const env = { DATABASE_URL: this.url, BELFRY_SECRET_KEY: secretKey, BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8' };
    const allEnv = { ...env, ...this.environment };
    const running = await startBelfry(allEnv, ['--role', role], undefined, program, this.#prefix);
    this.processes.push({ role, running });
    return running;
  }

  /** Runs a command of the CLI, which must succeed. */
  async belfry(args: string[], program = root): Promise<void> {
    await runCommand(program, args, this.url);
  }

  /** Returns the running processes with these roles. */
  alive(...roles: Role[]): Running[] {
    return this.processes
      .filter(({ role, running: { process } }) => {
        return roles.includes(role) && process.exitCode === null && process.signalCode === null;
      })
      .map(({ running }) => running);
  }

  /** A folder that is removed in the end. */
  get folder(): string {
    return this.#dataDir;
  }

  get key(): string {
    return this.keys.get('chaos')!;
  }

  /** Sets how the sink responds to messages that are posted to `path`. */
  async mode(mode: SinkMode, path = '/hook'): Promise<void> {
    await fetch(`${this.#sinkUrl}/mode`, { method: 'PUT', body: JSON.stringify({ path, mode }) });
  }

  async count(): Promise<number> {
    return Number(await (await fetch(`${this.#sinkUrl}/count`)).text());
  }

  received(): Promise<Receipt[]> {
    return this.#readSink('received');
  }

  /** Returns the messages that the sink refused to accept. */
  refused(): Promise<Receipt[]> {
    return this.#readSink('refused');
  }

  async #readSink(list: 'received' | 'refused'): Promise<Receipt[]> {
    const lists = (await (await fetch(`${this.#sinkUrl}/${list}`)).json()) as Record<
      string,
      [string, string, string, number, boolean, string, string][]
    >;
    return lists[list]!.map(([occurrence, recipient, id, at, answered, text, path]) => ({
      ...{ occurrence, recipient, id, at, answered, text, path },
    }));
  }

  /** Adds recipients to the list: far more than a configuration file would contain. */
  async addRecipients(count: number): Promise<void> {
    const added = Array.from({ length: count }, (_, i) => `more${i}@chaos.test`);
    await runSql(
      this.url,
      `with list as (
         select l.organization_id, l.id from distribution_lists l join organizations o on o.id = l.organization_id
         where o.slug = 'chaos' and l.name = 'All'
       ), made as (
         insert into users (organization_id, username, email)
         select organization_id, email, email from list, unnest($1::text[]) as email returning organization_id, id, email
       ), reached as (
         insert into addresses (organization_id, user_id, name, value)
         select organization_id, id, 'email', email from made returning organization_id, id
       )
       insert into members (organization_id, list_id, address_id)
       select list.organization_id, list.id, reached.id from list join reached using (organization_id)`,
      [added],
    );
    await runSql(this.url, 'vacuum analyze users, addresses, members');
    // One by one: as arguments of a single call, they would exceed the stack.
    for (const email of added) this.recipients.push(email);
  }

  /** Writes a file until nothing more fits on the disk of PostgreSQL. */
  async fillDisk(): Promise<void> {
    const file = await open(this.#filler, 'w');
    try {
      for (const size of [1024 * 1024, 4096]) {
        const chunk = Buffer.alloc(size);
        while (await writeIfRoom(file, chunk));
      }
    } finally {
      await file.close();
    }
  }

  async freeDisk(): Promise<void> {
    await rm(this.#filler);
  }

  get #filler(): string {
    return path.join(this.#dataDir, 'filler');
  }

  /** Kills the postmaster and its children, as a power cut would. */
  async killDatabase(): Promise<void> {
    await killDatabase(this.#dataDir);
  }

  /** Shuts the database down; a process that uses the data directory starts it again. */
  async restartDatabase(): Promise<void> {
    const before = await postmasterPid(this.#dataDir);
    process.kill(before, 'SIGINT');
    await waitFor('the database to stop', async () => {
      return (await postmasterPid(this.#dataDir).catch(() => 0)) !== before;
    });
  }

  /** Returns how many messages are being sent. */
  async inFlight(): Promise<number> {
    const text = `select count(*)::int as count from deliveries where status = 'sending'`;
    return (await runSql<{ count: number }>(this.url, text))[0]!.count;
  }

  /** Returns how many workers hold a lease. */
  async livingWorkers(): Promise<number> {
    return (await runSql<{ count: number }>(this.url, `select count(*)::int as count from (${living}) as living`))[0]!
      .count;
  }

  /**
   * Returns the messages without a recorded outcome that no living worker has claimed; those of them that had arrived may arrive
   * again. Call it right after a process died, before another worker recovers its work.
   */
  async leftBehind(): Promise<LeftBehind> {
    const text = `select d.occurrence_id as occurrence, u.email as recipient
      from deliveries d join users u on u.organization_id = d.organization_id and u.id = d.user_id
      where d.status <> 'sent' and coalesce(d.owner not in (${living}), true)`;
    const rows = await waitFor('the database to respond', () =>
      runSql<{ occurrence: string; recipient: string }>(this.url, text).catch(() => undefined),
    );
    return { keys: new Set(rows.map(keyOf)), at: Date.now() };
  }

  /** Waits until no work is left, and compares what was accepted with what arrived. */
  async settle({ leftBehind, broken: found = [], waitMs, ...facts }: Settled): Promise<Ledger> {
    const broken = [...found, ...(await this.finish(waitMs))];
    broken.push(...(await this.#findUnaccounted(facts)), ...this.#listCrashes());
    const received = facts.received ?? (await this.received());
    const mayRepeat = mayArriveAgain(received, leftBehind);
    await this.#addTimeouts(mayRepeat, received);
    const ledger = settleLedger({ recipients: this.recipients, ...facts, received, mayRepeat, broken });
    if (ledger.duplicates > 0 && !ledger.pass) ledger.broken.push(...(await this.#listFailedAttempts(received)));
    return ledger;
  }

  /** Processes that ended by themselves: recovery hides that from the counts. */
  #listCrashes(): string[] {
    return this.processes.flatMap(({ role, running: { process, output } }) => {
      if (!process.exitCode) return [];
      const last = output().trimEnd().split('\n').at(-1)!;
      return [`a process with the role ${role} ended with ${process.exitCode}: ${shorten(last).trim()}`];
    });
  }

  /**
   * Adds the attempts on record that waited in vain for at least five seconds: on a starved machine, the receiver itself may
   * answer too late. A shorter wait would be a fault of the service.
   */
  async #addTimeouts(mayRepeat: Map<string, number>, received: readonly Receipt[]): Promise<void> {
    const keys = new Map(received.map(receipt => [receipt.id, keyOf(receipt)]));
    const rows = await runSql<{ id: string; count: number }>(
      this.url,
      `select d.occurrence_id || '.' || d.id as id, count(*)::int as count
       from deliveries d, jsonb_array_elements(d.failed_attempts) a
       where substring(a ->> 'detail' from 'did not answer within (\\d+) ms')::int >= 5000 group by 1`,
    );
    for (const { id, count } of rows) {
      const key = keys.get(id);
      if (key) mayRepeat.set(key, Math.max(mayRepeat.get(key) ?? 0, count));
    }
  }

  /** Finds occurrences whose counts do not add up to their audience: each recipient is on record, or counted as not reached. */
  async #findUnaccounted({
    accepted,
    expectedToo = [],
    recipients = this.recipients,
    ownerUrl,
  }: Omit<Settled, 'leftBehind'>) {
    const more = Map.groupBy(expectedToo, key => key.split('/')[0]!);
    const audiences = new Map([...accepted, ...more.keys()].map(id => [id, more.get(id)?.length ?? 0]));
    for (const id of accepted) audiences.set(id, audiences.get(id)! + recipients.length);
    return this.findUnaccounted(audiences, ownerUrl);
  }

  /** Does the same for audiences by occurrence. */
  async findUnaccounted(audiences: ReadonlyMap<string, number>, url = this.url): Promise<string[]> {
    const rows = await runSql<{ id: string; audience: number; recorded: number; unexpanded: number }>(
      url,
      `select g.id, g.audience, coalesce(o.deliveries, 0) as recorded, coalesce(o.unexpanded, 0) as unexpanded
       from unnest($1::uuid[], $2::integer[]) as g (id, audience) left join occurrences o on o.id = g.id
       where coalesce(o.deliveries, 0) + coalesce(o.unexpanded, 0) < g.audience`,
      [[...audiences.keys()], [...audiences.values()]],
    );
    const [first] = rows;
    if (!first) return [];
    const { id, audience, recorded, unexpanded } = first;
    return [
      `${rows.length} occurrences do not account for their audience, such as ${id}: ${recorded} on record, ${unexpanded} not reached, of ${audience}`,
    ];
  }

  /** Returns the failed attempts on record for messages that arrived more than once, to investigate a failure. */
  async #listFailedAttempts(received: readonly Receipt[]): Promise<string[]> {
    const repeated = [...Map.groupBy(received, ({ id }) => id)].filter(([, each]) => each.length > 1);
    const rows = await runSql<{ detail: string; count: number }>(
      this.url,
      `select a ->> 'detail' as detail, count(*)::int as count from deliveries d, jsonb_array_elements(d.failed_attempts) a
       where d.occurrence_id || '.' || d.id = any($1) group by 1 order by 2 desc limit 5`,
      [repeated.map(([id]) => id)],
    );
    return rows.map(({ detail, count }) => `attempts of messages that arrived again: ${count} × ${detail}`);
  }

  /** Waits until no work is left, and returns the problems found. */
  async finish(waitMs = defaultWaitMs): Promise<string[]> {
    const broken: string[] = [];
    const open = `select (select count(*) from occurrences where status <> 'completed')
      + (select count(*) from deliveries where status = any('{pending,sending,retrying}')) as open`;
    await waitFor(
      'everything to be sent',
      async () => {
        const rows = await runSql<{ open: string }>(this.url, open).catch(() => []);
        return rows[0] && Number(rows[0].open) === 0;
      },
      waitMs,
    ).catch(error => broken.push((error as Error).message, ...this.lastErrors()));
    const mistakes = await findMistakes(this.url);
    if (mistakes.length > 0) broken.push(`${mistakes.length} counts differ from their deliveries`);
    return broken;
  }

  /** Returns the last warnings and errors of each process, to investigate a failure. */
  lastErrors(): string[] {
    return this.processes.map(({ role, running }) => {
      const lines = running
        .output()
        .split('\n')
        .filter(line => !/"level":"info"|"msg":"request/.test(line));
      return `${role}:\n${lines.slice(-15).map(shorten).join('\n')}`;
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.alive('all', 'api', 'worker').map(running => running.end('SIGKILL')));
    this.#sink.kill('SIGKILL');
    await this.#release();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

/** Returns false if the disk is full. */
async function writeIfRoom(file: FileHandle, chunk: Buffer): Promise<boolean> {
  return file.write(chunk).then(
    () => true,
    error => {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
      throw error;
    },
  );
}

async function mountDisk(folder: string, mb: number): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${mb}m`, 'tmpfs', folder]).catch(async () => {
    await rm(folder, { recursive: true });
    throw new Skipped('only root may mount a small disk');
  });
}

/** Messages of a dead process reach the sink within this time; its work is recovered seconds later. */
export const lastArrivalMs = 1_000;

function mayArriveAgain(received: readonly Receipt[], leftBehind: LeftBehind | undefined): Map<string, number> {
  const times = new Map<string, number>();
  for (const receipt of received) {
    const key = keyOf(receipt);
    if (!receipt.answered) times.set(key, (times.get(key) ?? 0) + 1);
    else if (leftBehind?.keys.has(key) && receipt.at <= leftBehind.at + lastArrivalMs) times.set(key, 1);
  }
  return times;
}

function shorten(line: string): string {
  if (!line.startsWith('{')) return line;
  const { time, msg, err } = JSON.parse(line) as { time: string; msg: string; err?: { message: string } };
  return `  ${time} ${msg}${err ? `: ${err.message}` : ''}`;
}

async function openSink(delayMs: number): Promise<{ sink: ChildProcess; sinkUrls: [string, string] }> {
  const sink = fork(fileURLToPath(new URL('./sink.ts', import.meta.url)), {
    env: cleanEnv({ DELAY_MS: String(delayMs) }),
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const [line] = await once(sink.stdout!.setEncoding('utf8'), 'data');
  const [first, second] = String(line).match(/\d+/g)!;
  return { sink, sinkUrls: [`http://127.0.0.1:${first}`, `http://127.0.0.1:${second}`] };
}
