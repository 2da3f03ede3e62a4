/** A thorough look at everything that can be wrong, with what to do about it. */
import type { OutboxSource } from '../core/outbox.ts';
import { countPromotionalEventsAcrossTenants } from '../db/categories.ts';
import { describeServerAcrossTenants } from '../db/health.ts';
import { countWebhooksAcrossTenants } from '../db/webhooks.ts';
import type { TraceSettings } from '../lib/trace-settings.ts';
import type { Deps } from './deps.ts';
import { checkChannels } from './doctor-channels.ts';
import { checkTraces } from './doctor-traces.ts';
import { type Check, check, checkMigrations, checkSending } from './health.ts';
import { Outbox } from './outbox.ts';
import { examineQueue } from './queue.ts';

const clockToleranceMs = 5_000;

/** Older than this, and what waits in an outbox is not being taken. */
const mostLagMs = 60_000;

export interface Surroundings {
  baseUrl?: string | undefined;
  outboxes?: readonly OutboxSource[];
  traces?: TraceSettings | undefined;
}

export async function examine(
  deps: Deps,
  now: number,
  { baseUrl, outboxes = [], traces }: Surroundings = {},
): Promise<Check[]> {
  const { db } = deps;
  const server = await describeServerAcrossTenants(db);
  const sending = await checkSending(deps);
  return [
    { name: 'database', ok: true, detail: `PostgreSQL ${server.version}` },
    await checkMigrations(deps),
    sending,
    await check('queue', async () => (sending.ok ? examineQueue(db) : 'sending is paused')),
    ...(await checkChannels(deps).catch(unreadable)),
    ...(await checkUnsubscribe(deps, baseUrl).catch(() => [])),
    ...(await checkWebhooks(deps).catch(() => [])),
    ...(await Promise.all(outboxes.map(checkOutbox))),
    ...(traces ? [await checkTraces(traces)] : []),
    await check('clock', async () => {
      const offMs = server.now.getTime() - now;
      if (Math.abs(offMs) > clockToleranceMs) {
        throw new Error(`this machine and the database are ${Math.round(offMs / 1_000)} s apart: set the clock (NTP)`);
      }
      return 'agrees with the database';
    }),
  ];
}

/** Mail services want promotional mail to carry one-click unsubscribe, which takes an address that they reach by https. */
async function checkUnsubscribe({ db }: Deps, baseUrl: string | undefined): Promise<Check[]> {
  const events = await countPromotionalEventsAcrossTenants(db);
  if (events === 0) return [];
  const ok = baseUrl?.startsWith('https:') === true;
  const many = `${events} promotional ${events === 1 ? 'event' : 'events'}`;
  const detail = ok
    ? `${many}, with one-click unsubscribe at ${baseUrl}`
    : `${many}, but BASE_URL is ${baseUrl ?? 'not set'}: set it to the public https address, so that mail carries one-click unsubscribe`;
  return [{ name: 'unsubscribe', ok, detail }];
}

/** Where there are any. That somebody's endpoint fails is nothing that is wrong here. */
async function checkWebhooks({ db }: Deps): Promise<Check[]> {
  const { all, disabled } = await countWebhooksAcrossTenants(db);
  if (all === 0) return [];
  const many = `${all} ${all === 1 ? 'webhook' : 'webhooks'}`;
  return [{ name: 'webhooks', ok: true, detail: disabled > 0 ? `${many}, ${disabled} disabled for failing` : many }];
}

/** A database whose migrations are behind has been named as such; the other checks still run. */
function unreadable(error: Error): Check[] {
  return [{ name: 'channels', ok: false, detail: error.message }];
}

async function checkOutbox(source: OutboxSource): Promise<Check> {
  const outbox = new Outbox(source);
  try {
    return await check(`outbox ${source.name}`, async () => {
      const { pending, failed, lagMs } = await outbox.readState();
      const waiting = `${pending} waiting, the oldest for ${Math.round(lagMs / 1_000)} s`;
      if (lagMs > mostLagMs) throw new Error(`${waiting}: is a worker running with BELFRY_OUTBOX_URLS?`);
      if (failed > 0) {
        throw new Error(
          `${failed} refused: select seq, event, error from belfry.outbox where failed_at is not null; after mending ` +
            'the cause, select belfry.retry(); or delete them',
        );
      }
      return waiting;
    });
  } finally {
    await outbox.close();
  }
}
