import { setTimeout as sleep } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import { Stage } from './stage.ts';
import { triggerOnce } from './stream.ts';
import { runSql } from '../test/support/sql.ts';
const stage = await Stage.open({ recipients: 1, roles: ['api'] });
await runSql(stage.url, `update channels set providers = '[{"use":"sandbox"}]', secrets = null`);
await runSql(stage.url, `with made as (
       insert into users (organization_id, username, email)
       select 1, 'q' || i || '@x.test', 'q' || i || '@x.test' from generate_series(1, $1::int) i returning id, email
     ), reached as (
       insert into addresses (organization_id, user_id, name, value) select 1, id, 'email', email from made returning id
     )
     insert into members (organization_id, list_id, address_id)
     select 1, (select id from distribution_lists where organization_id = 1), id from reached`, [Number(process.argv[2] ?? 50000)]);
await runSql(stage.url, 'analyze');
const worker = await stage.start('worker');
await triggerOnce(stage, 1);
const seen = new Map<string, number>();
const cpu = async () => { const s = (await readFile(`/proc/${worker.process.pid}/stat`, 'utf8')).split(' '); return (Number(s[13]) + Number(s[14])) / 100; };
const began = Date.now(); const cpu0 = await cpu();
for (;;) {
  const rows = await runSql<{ q: string; w: string }>(stage.url, `select left(regexp_replace(query, '\\s+', ' ', 'g'), 70) as q, coalesce(wait_event,'cpu') as w from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()`);
  for (const { q, w } of rows) seen.set(`${q} [${w}]`, (seen.get(`${q} [${w}]`) ?? 0) + 1);
  const done = await runSql<{ n: string }>(stage.url, `select count(*) as n from occurrences where status <> 'completed'`);
  if (Number(done[0]!.n) === 0) break;
  await sleep(30);
}
console.log((Date.now() - began) / 1000, 's; worker cpu', (await cpu()) - cpu0);
console.log([...seen].sort((a, b) => b[1] - a[1]).slice(0, 14));
console.log(await readFile(`/proc/${worker.process.pid}/status`, 'utf8').then(t => /VmHWM.*/.exec(t)![0]));
await stage.close();
process.exit();
