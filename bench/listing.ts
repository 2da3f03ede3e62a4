/**
 * Lists all users over the HTTP API in one response, an array that is streamed. The baseline is PostgreSQL's COPY of the same
 * columns as JSON, to a client that discards them too.
 */
import pg from 'pg';
import { request } from 'undici';
import { quantile, type Scenario } from './scenario.ts';
import { cpuMs, openStage, residentMb } from './stage.ts';

export const listing: Scenario = {
  name: 'listing',
  summary: 'all of 1,000,000 (quick: 10,000) users in one response, vs. COPY of the same as JSON',
  async run({ quick, log }) {
    const size = quick ? 10_000 : 1_000_000;
    const rounds = quick ? 1 : 3;
    const stage = await openStage([], []);
    try {
      log(`creates ${size.toLocaleString('en')} users`);
      await createUsers(stage.sql, size);
      const api = await stage.start('api');
      const list = async () => {
        const began = performance.now();
        const { users, bytes } = await readAll(`${api.address}/api/o/bench/u/`, stage.key);
        if (users !== size) throw new Error(`${users} of ${size} users were listed`);
        return { perSecond: size / ((performance.now() - began) / 1_000), bytes };
      };
      const copy = async () => {
        const began = performance.now();
        const { rows, bytes } = await copyUsers(stage.url);
        if (rows !== size) throw new Error(`${rows} of ${size} users were copied`);
        return { perSecond: size / ((performance.now() - began) / 1_000), bytes };
      };
      // Warms up with pages, so that any later growth is caused by the full list.
      for (let i = 0; i < 50; i++) await readAll(`${api.address}/api/o/bench/u/?limit=1000`, stage.key);
      const before = await residentMb(api);
      let peak = before;
      const watch = setInterval(async () => {
        peak = Math.max(peak, await residentMb(api).catch(() => 0));
      }, 50);
      // One uncounted round each, then alternating.
      await list();
      await copy();
      const times = { list: [] as number[], copy: [] as number[], used: [] as number[] };
      for (let round = 1; round <= rounds; round++) {
        const used = await cpuMs(api);
        const listed = await list();
        times.used.push((((await cpuMs(api)) - used) * 1_000) / size);
        const copied = await copy();
        times.list.push(listed.perSecond);
        times.copy.push(copied.perSecond);
        log(`round ${round}: ${formatRate(listed)} listed, ${formatRate(copied)} copied`);
      }
      clearInterval(watch);
      return [
        {
          measure: `listing ${size.toLocaleString('en')} users`,
          value: quantile(times.list, 0.5),
          unit: 'users/s',
          baseline: quantile(times.copy, 0.5),
          limit: { of: 'ratio', min: 0.5 },
          note: `median of ${rounds}; the baseline is one COPY on one connection`,
        },
        { measure: 'CPU time of the API per user', value: quantile(times.used, 0.5), unit: 'µs' },
        { measure: 'memory growth of the API', value: peak - before, unit: 'MB', limit: { of: 'value', max: 64 } },
      ];
    } finally {
      await stage.close();
    }
  },
};

function formatRate({ perSecond, bytes }: { perSecond: number; bytes: number }): string {
  return `${Math.round(perSecond).toLocaleString('en')}/s (${Math.round(bytes / 1e6)} MB)`;
}

async function createUsers(sql: pg.Client, size: number): Promise<void> {
  await sql.query(
    `insert into users (organization_id, username, email, first_name, last_name)
     select o.id, email, email, 'Ann', 'Bellringer ' || n
     from organizations o, generate_series(1, $1::int) n, lateral (select 'ann.' || n || '@bell.example.test') e (email)
     where o.slug = 'bench'`,
    [size],
  );
  await sql.query('vacuum analyze users');
}

/** Counts users by their opening brace; no name contains one. */
async function readAll(url: string, key: string): Promise<{ users: number; bytes: number }> {
  const { statusCode, body } = await request(url, { headers: { authorization: `Key ${key}` } });
  if (statusCode !== 200) throw new Error(`${statusCode}: ${await body.text()}`);
  let users = 0;
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    for (let at = chunk.indexOf('{'); at >= 0; at = chunk.indexOf('{', at + 1)) users++;
  }
  return { users, bytes };
}

async function copyUsers(url: string): Promise<{ rows: number; bytes: number }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(
      new CopyOut(
        `copy (
           select row_to_json(u) from (
             select id, email, username, first_name, last_name, locked from users
             where organization_id = (select id from organizations where slug = 'bench') order by id
           ) u
         ) to stdout`,
      ),
    ).done;
  } finally {
    await client.end();
  }
}

/** A pg query object for a COPY whose rows are counted and discarded. */
class CopyOut implements pg.Submittable {
  readonly done: Promise<{ rows: number; bytes: number }>;
  readonly #text: string;
  #rows = 0;
  #bytes = 0;
  #resolve!: (counts: { rows: number; bytes: number }) => void;
  #reject!: (error: Error) => void;

  constructor(text: string) {
    this.#text = text;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: pg.Connection): void {
    connection.query(this.#text);
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.#rows++;
    this.#bytes += chunk.length;
  }

  handleError(error: Error): void {
    this.#reject(error);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#resolve({ rows: this.#rows, bytes: this.#bytes });
  }
}
