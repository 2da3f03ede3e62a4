/**
 * The minimum for durable triggers: the same framework validates the same body, and everything that arrives while a batch is being
 * written forms the next batch, stored in one statement with a NOTIFY. There is no API key, and nothing is looked up, counted,
 * limited or logged.
 */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import pg from 'pg';
import { uuidv7 } from '../src/core/ids.ts';
import { TriggerBody, type TriggerOptions } from '../src/core/trigger.ts';
import { Triggered } from '../src/http/server/schemas.ts';
import { Batcher } from '../src/lib/load/batcher.ts';

interface Stored {
  id: string;
  event: string;
  context: object;
  options: TriggerOptions;
}

const database = new pg.Pool({ connectionString: process.env.PEER_DATABASE_URL!, max: 1 });
await database.query(`
  create table durable (
    id uuid primary key,
    event text not null,
    context jsonb not null,
    options jsonb not null,
    created_at timestamptz not null default now()
  )`);

const store = {
  name: 'store',
  text: `
    with stored as (
      insert into durable (id, event, context, options)
      select * from json_to_recordset($1::json) as g (id uuid, event text, context jsonb, options jsonb)
    )
    select pg_notify('durable', '')`,
};

const batches = new Batcher(
  async (items: Stored[]) => {
    await database.query({ ...store, values: [JSON.stringify(items)] });
    return items;
  },
  {
    maxPerBatch: 500,
    maxWaiting: Number.POSITIVE_INFINITY,
    full: () => new Error('never'),
    isItemError: () => false,
  },
);

const app = Fastify({ ajv: { customOptions: { keywords: ['patternHint'] } } });
app.post<{ Params: { event: string }; Body: { context?: object; options?: TriggerOptions } }>(
  '/api/o/:organization/p/:project/a/:application/e/:event/trigger/',
  { schema: { body: TriggerBody, response: { 201: Triggered } } },
  async ({ params: { event }, body: { context = {}, options = {} } }, reply) => {
    const { id } = await batches.add({ id: uuidv7(Date.now()), event, context, options });
    reply.code(201);
    return { occurrence: id };
  },
);
await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${(app.server.address() as AddressInfo).port}\n`);
process.on('disconnect', () => process.exit(0));
