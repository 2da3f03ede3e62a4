/**
 * What every scenario plays on: a throw-away PostgreSQL that keeps its word about durability, the real service in
 * processes of its own, a sink in another, and one tenant. Whatever was started here is ended here.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { openRuntime } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { applyConfiguration } from '../src/services/declarative.ts';
import { createKey } from '../src/services/keys.ts';
import {
  belfry,
  cleanEnv,
  killDatabase,
  postmasterPid,
  type Running,
  root,
  startBelfry,
  waitFor,
} from '../test/support/process.ts';
import { findMistakes } from '../test/support/sink-ledger.ts';
import { runSql } from '../test/support/sql.ts';
import { type Facts, keyOf, type Ledger, type Receipt, settleLedger } from './ledger.ts';

export interface StageOptions {
  recipients: number;
  /** How long the sink takes to answer. */
  sinkMs?: number;
  /** How long the service waits for the sink. */
  timeoutMs?: number;
  /** What messages go out by: webhooks into the sink, unless said otherwise. */
  channel?: 'hooks' | 'app';
  /** Processes to start with. */
  roles: Role[];
  /** The folder of another version that sets up the database and starts these. */
  program?: string;
  /** What differs about the only notification, such as its steps. */
  notification?: Record<string, unknown>;
}

type Role = 'all' | 'api' | 'worker';

export interface LeftBehind {
  keys: ReadonlySet<string>;
  at: number;
}

export interface Settled extends Pick<Facts, 'scenario' | 'accepted' | 'faultAt' | 'faultOverAt'> {
  /** Where somebody died. Where nobody did, nothing may arrive twice, unless its answer was withheld. */
  leftBehind?: LeftBehind;
}

/** Workers whose lock is held: see src/db/workers.ts. */
const living = `select objid::bigint from pg_locks where locktype = 'advisory' and classid = ${0x62656c66} and granted
  and database = (select oid from pg_database where datname = current_database())`;
const secretKey = 'a secret of at least 32 characters';
const waitMs = 90_000;

export class Stage {
  readonly url: string;
  readonly key: string;
  readonly processes: { role: Role; running: Running }[] = [];
  readonly recipients: string[];
  /** What processes that are started from now on have in their environment besides. */
  readonly environment: Record<string, string> = {};
  readonly #dataDir: string;
  readonly #release: () => Promise<void>;
  readonly #sink: ChildProcess;
  readonly #sinkUrl: string;

  private constructor(parts: {
    url: string;
    key: string;
    recipients: string[];
    dataDir: string;
    release: () => Promise<void>;
    sink: ChildProcess;
    sinkUrl: string;
  }) {
    this.url = parts.url;
    this.key = parts.key;
    this.recipients = parts.recipients;
    this.#dataDir = parts.dataDir;
    this.#release = parts.release;
    this.#sink = parts.sink;
    this.#sinkUrl = parts.sinkUrl;
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { recipients: size, sinkMs = 10, timeoutMs = 10_000, channel = 'hooks', roles, notification = {} } = options;
    const { program = root } = options;
    const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-chaos-'));
    const { url, release } = await openEmbedded({ dataDir, durable: true });
    const { sink, sinkUrl } = await openSink(sinkMs);
    const recipients = Array.from({ length: size }, (_, i) => `p${i}@chaos.test`);
    const document = describeTenant(recipients, { channel, sinkUrl, timeoutMs, notification });
    const key = await (program === root ? configure(url, document) : configureBy(program, url, document));
    const stage = new Stage({ url, key, recipients, dataDir, release, sink, sinkUrl });
    const started = await Promise.allSettled(roles.map(role => stage.start(role, program)));
    const failed = started.find(each => each.status === 'rejected');
    if (!failed) return stage;
    await stage.close();
    throw failed.reason;
  }

  async start(role: Role, program = root): Promise<Running> {
    const env = { DATABASE_URL: this.url, BELFRY_SECRET_KEY: secretKey, BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8' };
    const running = await startBelfry({ ...env, ...this.environment }, ['--role', role], undefined, program);
    this.processes.push({ role, running });
    return running;
  }

  /** A command of the command line, which has to succeed. */
  async belfry(args: string[], program = root): Promise<void> {
    await runCommand(program, args, this.url);
  }

  /** Those that run now. */
  alive(...roles: Role[]): Running[] {
    return this.processes
      .filter(({ role, running: { process } }) => {
        return roles.includes(role) && process.exitCode === null && process.signalCode === null;
      })
      .map(({ running }) => running);
  }

  async mode(mode: 'ok' | 'drop' | 'hang'): Promise<void> {
    await fetch(`${this.#sinkUrl}/mode`, { method: 'PUT', body: JSON.stringify({ mode }) });
  }

  async count(): Promise<number> {
    return Number(await (await fetch(`${this.#sinkUrl}/count`)).text());
  }

  async received(): Promise<Receipt[]> {
    const { received } = (await (await fetch(`${this.#sinkUrl}/received`)).json()) as {
      received: [string, string, string, number, boolean, string][];
    };
    return received.map(([occurrence, recipient, id, at, answered, text]) => ({
      ...{ occurrence, recipient, id, at, answered, text },
    }));
  }

  /** The postmaster and its children, as a power cut would end them. */
  async killDatabase(): Promise<void> {
    await killDatabase(this.#dataDir);
  }

  /** A fast shutdown; whoever is present on the data folder starts it again. */
  async restartDatabase(): Promise<void> {
    const before = await postmasterPid(this.#dataDir);
    process.kill(before, 'SIGINT');
    await waitFor('the database to stop', async () => {
      return (await postmasterPid(this.#dataDir).catch(() => 0)) !== before;
    });
  }

  /** How many messages are being sent. */
  async inFlight(): Promise<number> {
    const text = `select count(*)::int as count from deliveries where status = 'sending'`;
    return (await runSql<{ count: number }>(this.url, text))[0]!.count;
  }

  /** How many workers the database believes to be alive. */
  async livingWorkers(): Promise<number> {
    return (await runSql<{ count: number }>(this.url, `select count(*)::int as count from (${living}) as living`))[0]!
      .count;
  }

  /**
   * Right after some died, and before anybody takes up their work; as soon as the database answers. These messages have
   * no outcome on record, and no living worker that has them in hand: those of them that had arrived come once more.
   */
  async leftBehind(): Promise<LeftBehind> {
    const text = `select d.occurrence_id as occurrence, u.email as recipient
      from deliveries d join users u on u.organization_id = d.organization_id and u.id = d.user_id
      where d.status <> 'sent' and coalesce(d.owner not in (${living}), true)`;
    const rows = await waitFor('the database to answer', () =>
      runSql<{ occurrence: string; recipient: string }>(this.url, text).catch(() => undefined),
    );
    return { keys: new Set(rows.map(keyOf)), at: Date.now() };
  }

  /** Waits until nothing is left to do, and settles the account. */
  async settle({ leftBehind, ...facts }: Settled): Promise<Ledger> {
    const broken = await this.finish();
    const received = await this.received();
    const mayRepeat = mayArriveAgain(received, leftBehind);
    return settleLedger({ ...facts, recipients: this.recipients, received, mayRepeat, broken });
  }

  /** Waits until nothing is left to do; tells what is wrong then. */
  async finish(): Promise<string[]> {
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
    ).catch(error => broken.push((error as Error).message, ...this.#lastWords()));
    const mistakes = await findMistakes(this.url);
    if (mistakes.length > 0) broken.push(`${mistakes.length} counts differ from their deliveries`);
    return broken;
  }

  /** What the processes complained about, for whoever looks into a failure. */
  #lastWords(): string[] {
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

/** What a process had sent reaches the sink within this; its work is taken up seconds later. */
const lastArrivalMs = 1_000;

function mayArriveAgain(received: Receipt[], leftBehind: LeftBehind | undefined): Map<string, number> {
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

async function openSink(delayMs: number): Promise<{ sink: ChildProcess; sinkUrl: string }> {
  const sink = fork(fileURLToPath(new URL('./sink.ts', import.meta.url)), {
    env: cleanEnv({ DELAY_MS: String(delayMs) }),
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const [line] = await once(sink.stdout!.setEncoding('utf8'), 'data');
  return { sink, sinkUrl: `http://127.0.0.1:${/\d+/.exec(String(line))![0]}` };
}

interface Outlet {
  channel: 'hooks' | 'app';
  sinkUrl: string;
  timeoutMs: number;
  notification: Record<string, unknown>;
}

/** One tenant with so many recipients. */
function describeTenant(
  recipients: string[],
  { channel, sinkUrl, timeoutMs: timeout_ms, notification: differing }: Outlet,
): object {
  const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';
  const notification = {
    name: 'all',
    recipients: { list: 'All' },
    ...(!differing.steps && { channels: [channel] }),
    message: { subject: '{{ user.email }}', body: 'Hello {{ n }}' },
    ...differing,
  };
  const hooks = {
    slug: 'hooks',
    name: 'Hooks',
    type: 'webhook',
    providers: [{ use: 'standard-webhooks', url: `${sinkUrl}/hook`, secret, timeout_ms }],
  };
  const app = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };
  const events = [{ slug: 'go', name: 'Go', notifications: [notification] }];
  const applications = [{ slug: 'web', name: 'Web', events }];
  const distribution_lists = [{ name: 'All', members: recipients }];
  const projects = [{ slug: 'shop', name: 'Shop', distribution_lists, applications }];
  const users = recipients.map(email => ({ email }));
  return { organizations: [{ slug: 'chaos', name: 'Chaos', channels: [hooks, app], users, projects }] };
}

/** Returns the tenant's key. */
async function configure(url: string, document: object): Promise<string> {
  const config = loadConfig({ DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), true);
  await applyConfiguration(runtime.deps, document, { prune: false });
  const { key } = await createKey(runtime.deps, 'chaos', { name: 'chaos', permissions: ['*'] });
  await runtime.close();
  return key;
}

/** The same by the command line of another version, whose schema it has then. */
async function configureBy(program: string, url: string, document: object): Promise<string> {
  const file = path.join(program, 'chaos.json');
  await writeFile(file, JSON.stringify(document));
  await runCommand(program, ['apply', file], url);
  const args = ['key', 'create', '--org', 'chaos', '--name', 'chaos', '--permission', '*'];
  return (await runCommand(program, args, url)).trim();
}

async function runCommand(program: string, args: string[], url: string): Promise<string> {
  const env = { DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey };
  const { code, stdout, stderr } = await belfry(args, env, '', program);
  if (code !== 0) throw new Error(`belfry ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}
