/**
 * pg-boss behind Fastify, with everything in batches of 500: whatever arrives while a batch is being stored forms the next one, with
 * ledger rows and jobs in one transaction. A worker fetches as many jobs at a time, and records in one statement which were sent.
 * API and worker are separate processes, both from this file.
 */
import { PgBoss } from 'pg-boss';
import { Batcher } from '../src/lib/load/batcher.ts';
import {
  connectionString,
  createLedger,
  database,
  type Message,
  ready,
  schema,
  send,
  serveTriggers,
} from './peer-service.ts';

const batchSize = 500;
const queue = 'send';

const isApi = process.env.PEER_ROLE === 'api';
const boss = new PgBoss({ connectionString, schema: 'pgboss', useListenNotify: true });
boss.on('error', error => console.error(error));
await boss.start();

async function store(triggers: Message[][]): Promise<undefined[]> {
  const messages = triggers.flat();
  const client = await database.connect();
  try {
    await client.query('begin');
    await client.query({
      name: 'store',
      text: `
        insert into ${schema}.ledger (occurrence, channel, recipient, context)
        select * from json_to_recordset($1::json) as g (occurrence uuid, channel text, recipient text, context jsonb)`,
      values: [JSON.stringify(messages)],
    });
    const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
    await boss.insert(
      queue,
      messages.map(data => ({ data })),
      { db },
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
  return triggers.map(() => undefined);
}

const settle = {
  name: 'settle',
  text: `
    update ${schema}.ledger l set sent_at = now()
    from unnest($1::uuid[], $2::text[]) as s (occurrence, channel)
    where l.occurrence = s.occurrence and l.channel = s.channel`,
};

if (isApi) {
  await createLedger();
  await boss.createQueue(queue, { notify: true, retryLimit: 5, retryBackoff: true });
  const batches = new Batcher(store, {
    maxPerBatch: batchSize,
    maxWaiting: Number.POSITIVE_INFINITY,
    full: () => new Error('never'),
    isItemError: () => false,
  });
  await serveTriggers(messages => batches.add(messages));
} else {
  const fast = { burstWhenBatchFull: true, pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 1 };
  await boss.work<Message>(queue, { ...fast, localConcurrency: 2, batchSize }, async jobs => {
    for (const { data } of jobs) send(data);
    const values = [jobs.map(({ data }) => data.occurrence), jobs.map(({ data }) => data.channel)];
    await database.query({ ...settle, values });
  });
  ready();
}
