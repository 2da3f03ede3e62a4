/**
 * Writes the generated files: schema.sql and src/db/connection/types.ts from migrations/, openapi.json from the routes, docs/providers/
 * from the providers, and the media type of Zabbix in deploy/. With --check it writes nothing and fails if one of them is out of date.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { addressPlaceholder, zabbixMediaType } from '../src/core/sources/zabbix-media-type.ts';
import { migrate } from '../src/db/connection/migrate.ts';
import { openDatabase } from '../src/db/connection/pool.ts';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { createMetrics } from '../src/http/server/metrics/metrics.ts';
import { registerSwagger } from '../src/http/server/openapi/swagger.ts';
import { createServer } from '../src/http/server/server.ts';
import type { Deps } from '../src/services/deps.ts';
import { providerPages } from './provider-pages.ts';
import { readSchema, type Schema } from './schema-read.ts';
import { schemaToSql } from './schema-sql.ts';
import { schemaToTypes } from './schema-types.ts';

interface ApiDocument {
  components: { schemas: Record<string, object> };
  paths: Record<string, Record<string, object>>;
}

const root = new URL('../', import.meta.url);
const schema = await migratedSchema();
const files: Record<string, string> = {
  'schema.sql': schemaToSql(schema),
  'src/db/connection/types.ts': schemaToTypes(schema),
  'openapi.json': await describeApi(),
  ...(await providerPages()),
  'deploy/zabbix/media_belfry.yaml': zabbixMediaType(addressPlaceholder, ''),
};

const stale: string[] = [];
for (const [name, text] of Object.entries(files)) {
  const present = await readFile(new URL(name, root), 'utf8').catch(() => undefined);
  if (present !== text) stale.push(name);
}
if (!process.argv.includes('--check')) {
  for (const name of stale) await writeFile(new URL(name, root), files[name]!);
  console.log(stale.length > 0 ? `Wrote ${stale.join(', ')}.` : 'Everything is up to date.');
} else if (stale.length > 0) {
  console.error(`Out of date: ${stale.join(', ')}. Run npm run generate.`);
  process.exitCode = 1;
}

/** Migrates a temporary, real database and reads its schema. */
async function migratedSchema(): Promise<Schema> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-generate-'));
  try {
    const cluster = await openEmbedded({ dataDir, durable: false });
    const database = openDatabase({ url: cluster.url, name: 'generate' });
    try {
      await migrate(database.db);
      return await readSchema(database.pool);
    } finally {
      await database.close();
      await cluster.release();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Only the description of this server is used, so it needs no working dependencies. */
async function describeApi(): Promise<string> {
  const deps = {} as Deps;
  const server = await createServer({
    deps,
    logger: pino({ level: 'silent' }),
    withApi: true,
    baseUrl: undefined,
    trustProxy: [],
    corsOrigins: [],
    metrics: createMetrics({
      deps,
      engineCounts: { missingVariables: 0 },
      pool: () => ({ total: 0, idle: 0, waiting: 0 }),
    }),
    metricsAccess: { ownPort: false, token: undefined, isPublic: false },
    describe: registerSwagger,
  });
  await server.ready();
  const described = server.swagger() as unknown as ApiDocument;
  await server.close();
  const present = await readFile(new URL('openapi.json', root), 'utf8').catch(() => undefined);
  const document = present ? inOrderOf(JSON.parse(present) as ApiDocument, described) : described;
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Existing entries keep their position, so that reordering the route table does not change the document. */
function inOrderOf(present: ApiDocument, described: ApiDocument): ApiDocument {
  const paths = sortKeys(present.paths, described.paths);
  for (const [path, operations] of Object.entries(paths)) paths[path] = sortKeys(present.paths[path] ?? {}, operations);
  const schemas = sortKeys(present.components.schemas, described.components.schemas);
  return { ...described, components: { ...described.components, schemas }, paths };
}

function sortKeys<T>(present: object, described: Record<string, T>): Record<string, T> {
  const existing = Object.keys(present).filter(key => key in described);
  return Object.fromEntries([...new Set([...existing, ...Object.keys(described)])].map(key => [key, described[key]!]));
}
