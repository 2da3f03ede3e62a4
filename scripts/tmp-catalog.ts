import { writeFileSync, mkdtempSync } from 'node:fs';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { openDatabase } from '../src/db/connection/pool.ts';
import { migrate } from '../src/db/connection/migrate.ts';
const e = await openEmbedded({ dataDir: mkdtempSync('/dev/shm/cat-'), durable: false });
const d = openDatabase({ url: e.url, name: 'x' });
try {
await migrate(d.db);
const out: string[] = [];
const q = async (title: string, text: string) => { const { rows } = await d.pool.query({ text, rowMode: 'array' }); out.push(`## ${title}`, ...(rows as unknown[][]).map(r => r.map(String).join(' | '))); };
const mine = `c.relnamespace = 'public'::regnamespace and c.relname not like 'belfry_migr%'`;
await q('classes', `select relname, relkind, reloptions, relpersistence, relreplident from pg_class c where ${mine} order by 1`);
await q('columns', `select c.relname, a.attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attstorage, attcompression, attstattarget, attcollation::regcollation, pg_get_expr(adbin, adrelid) from pg_class c join pg_attribute a on a.attrelid = c.oid left join pg_attrdef f on f.adrelid = c.oid and f.adnum = a.attnum where ${mine} and attnum > 0 and not attisdropped order by 1, attnum`);
await q('constraints', `select c.relname, conname, contype, pg_get_constraintdef(k.oid) from pg_constraint k join pg_class c on c.oid = conrelid where ${mine} order by 1, 2`);
await q('indexes', `select c.relname, pg_get_indexdef(c.oid), indisvalid from pg_class c join pg_index i on i.indexrelid = c.oid where ${mine} order by 1`);
await q('triggers', `select c.relname, tgname, pg_get_triggerdef(t.oid), tgenabled from pg_trigger t join pg_class c on c.oid = tgrelid where ${mine} and not tgisinternal order by 1, 2`);
await q('functions', `select proname, pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace order by 1`);
await q('comments', `select c.relname, objsubid, description from pg_description join pg_class c on c.oid = objoid and classoid = 'pg_class'::regclass where ${mine} order by 1, 2`);
await q('sequences', `select sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size from pg_sequences where schemaname = 'public' order by 1`);
await q('order', `select relname from pg_class c where ${mine} and relkind in ('r', 'p') order by oid`);
await q('other', `select extname from pg_extension union all select stxname::text from pg_statistic_ext union all select typname::text from pg_type where typnamespace = 'public'::regnamespace and typtype in ('e', 'd') order by 1`);
await q('rows', `select relname, n_live_tup from pg_stat_user_tables where n_live_tup > 0 and relname not like 'belfry_migr%' order by 1`);
writeFileSync(process.argv[2]!, out.join('\n') + '\n');
} finally { await d.close(); await e.release(); }
process.exit(0);
