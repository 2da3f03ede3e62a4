/**
 * graphile-worker behind Fastify: one statement stores the ledger row and the job; a job sends one message and records it in the
 * ledger. It uses the fast paths of the library: jobs are fetched in batches into a local queue and completed together. API and
 * worker are separate processes, both from this file.
 */
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
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

const concurrentJobs = 20;

const store = {
  name: 'store',
  text: `
    with input as (
      select * from json_to_recordset($1::json) as g (occurrence uuid, channel text, recipient text, context jsonb)
    ), stored as (
      insert into ${schema}.ledger (occurrence, channel, recipient, context)
      select occurrence, channel, recipient, context from input
    )
    select graphile_worker.add_job('send', to_json(input)) from input`,
};

const settle = {
  name: 'settle',
  text: `update ${schema}.ledger set sent_at = now() where occurrence = $1 and channel = $2`,
};

// A log line per job would be a tenth of the work.
const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});

if (process.env.PEER_ROLE === 'api') {
  await createLedger();
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  await utils.release();
  await serveTriggers(messages => database.query({ ...store, values: [JSON.stringify(messages)] }));
} else {
  await run({
    pgPool: database,
    noHandleSignals: true,
    logger,
    taskList: {
      send: async payload => {
        const message = payload as Message;
        send(message);
        await database.query({ ...settle, values: [message.occurrence, message.channel] });
      },
    },
    preset: { worker: { concurrentJobs, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  });
  ready();
}
