/**
 * Imports CSV files of 100,000 members over the HTTP API: into an empty database, then of other users, then of the first users
 * again into a third list. From the second on, the tables have statistics, which do not know the new list.
 */
import { request } from 'undici';
import type { Row, Scenario } from './scenario.ts';
import { cpuMs, openStage, postgresCpuMs, residentMb } from './stage.ts';

const lists = [
  { name: 'first', of: 'ann', measure: 'new users, in an empty database' },
  { name: 'second', of: 'bob', measure: 'new users, with statistics' },
  { name: 'third', of: 'ann', measure: 'known users, with statistics' },
];

export const listImport: Scenario = {
  name: 'import',
  summary: 'CSV files of 100,000 (quick: 2,000) members into three lists',
  async run({ quick }) {
    const size = quick ? 2_000 : 100_000;
    const distribution_lists = lists.map(({ name }) => ({ name }));
    const stage = await openStage([], [], { distribution_lists });
    const peaks: number[] = [];
    const rows: Row[] = [];
    try {
      const api = await stage.start('api');
      for (const { name, of, measure } of lists) {
        const found = await stage.sql.query<{ id: number }>('select id from distribution_lists where name = $1', [
          name,
        ]);
        const used = { service: await cpuMs(api), database: await postgresCpuMs(stage.sql) };
        let peak = await residentMb(api);
        const watch = setInterval(async () => {
          peak = Math.max(peak, await residentMb(api).catch(() => 0));
        }, 50);
        const began = performance.now();
        const address = `${api.address}/api/o/bench/p/shop/d/${found.rows[0]!.id}/import/`;
        const added = await importFile(address, stage.key, csv(of, size));
        const seconds = (performance.now() - began) / 1_000;
        clearInterval(watch);
        if (added !== size) throw new Error(`${added} of ${size} members were added to the ${name} list`);
        const perLine = (before: number, after: number) => Math.round(((after - before) * 1_000) / size);
        const service = perLine(used.service, await cpuMs(api));
        const database = perLine(used.database, await postgresCpuMs(stage.sql));
        rows.push({
          measure,
          value: size / seconds,
          unit: 'lines/s',
          limit: { of: 'value', min: 8_000 },
          note: `CPU time per line: API ${service} µs, PostgreSQL ${database} µs`,
        });
        peaks.push(peak);
        await stage.sql.query('vacuum analyze');
      }
      const growth = Math.max(...peaks) - peaks[0]!;
      const note = `peaks: ${peaks.map(peak => Math.round(peak)).join(', ')} MB`;
      rows.push({
        measure: 'memory growth of the API after the first import',
        value: growth,
        unit: 'MB',
        limit: { of: 'value', max: 64 },
        note,
      });
      return rows;
    } finally {
      await stage.close();
    }
  },
};

function csv(prefix: string, size: number): string {
  let text = 'email,first_name,last_name,custom.customer\n';
  for (let n = 1; n <= size; n++) text += `${prefix}.${n}@bell.example.test,Ann,Bellringer ${n},${n}\n`;
  return text;
}

/** Returns the number of members that were added. */
async function importFile(url: string, key: string, body: string): Promise<number> {
  const headers = { authorization: `Key ${key}`, 'content-type': 'text/csv' };
  const response = await request(url, { method: 'POST', headers, body, headersTimeout: 600_000 });
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${await response.body.text()}`);
  return ((await response.body.json()) as { added: number }).added;
}
