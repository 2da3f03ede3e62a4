/** The checks of `belfry doctor`. A failed check says what is wrong and what to do about it. */
import type { OutboxSource } from '../../../core/operations/outbox.ts';
import {
  countPromotionalEventsAcrossTenants,
  countTrackedCategoriesAcrossTenants,
} from '../../../db/configuration/categories.ts';
import { countAcknowledgeLinksAcrossTenants } from '../../../db/configuration/messages.ts';
import { countWebhooksAcrossTenants } from '../../../db/configuration/webhooks.ts';
import { summarizeHeartbeatsAcrossTenants } from '../../../db/history/heartbeats/heartbeats.ts';
import { summarizeHoldsAcrossTenants } from '../../../db/history/holds.ts';
import { describeServerAcrossTenants } from '../../../db/operations/health.ts';
import { countOf } from '../../../lib/count-of.ts';
import type { TraceSettings } from '../../../lib/telemetry/trace-settings.ts';
import type { Deps } from '../../deps.ts';
import { checkFleetQueue } from '../backlog.ts';
import { type Check, check, checkClock, checkMigrations, checkSending } from '../health.ts';
import { Outbox } from '../outbox.ts';
import { checkOtherSecrets } from '../secrets.ts';
import { checkChannels } from './channels.ts';
import { checkServiceLevels, checkWatches } from './levels.ts';
import { checkCalendars, checkOnCall, checkUserGroups } from './on-call.ts';
import { checkTraces } from './traces.ts';

/** A row that waits longer than this means that no worker drains the outbox. */
const maxOutboxLagMs = 60_000;

interface DoctorSettings {
  baseUrl?: string | undefined;
  /** The address in acknowledge links. */
  linkUrl?: string | undefined;
  outboxes?: readonly OutboxSource[];
  traces?: TraceSettings | undefined;
}

export async function runDoctorChecks(
  deps: Deps,
  now: number,
  { baseUrl, linkUrl = baseUrl, outboxes = [], traces }: DoctorSettings = {},
): Promise<Check[]> {
  const { db } = deps;
  const server = await describeServerAcrossTenants(db);
  const sending = await checkSending(deps);
  return [
    { name: 'database', ok: true, detail: `PostgreSQL ${server.version}` },
    await checkMigrations(deps),
    sending,
    await check('queue', async () => (sending.ok ? checkFleetQueue(db) : 'sending is paused')),
    ...(await checkChannels(deps).catch(failedChannels)),
    ...(await checkUnsubscribe(deps, baseUrl).catch(() => [])),
    ...(await checkTracking(deps, baseUrl).catch(() => [])),
    ...(await checkAcknowledgeLinks(deps, baseUrl, linkUrl).catch(() => [])),
    ...(await checkWebhooks(deps).catch(() => [])),
    ...(await checkApprovals(deps).catch(() => [])),
    ...(await checkHeartbeats(deps).catch(() => [])),
    ...(await checkOnCall(deps).catch(() => [])),
    ...(await checkCalendars(deps).catch(() => [])),
    ...(await checkUserGroups(deps).catch(() => [])),
    ...(await checkServiceLevels(deps).catch(() => [])),
    ...(await checkWatches(deps).catch(() => [])),
    await checkOtherSecrets(deps),
    ...(await Promise.all(outboxes.map(checkOutbox))),
    ...(traces ? [await checkTraces(traces)] : []),
    await checkClock(now - server.now.getTime()),
  ];
}

/** Mailbox providers require one-click unsubscribe in promotional mail, which needs a public https address. */
async function checkUnsubscribe({ db }: Deps, baseUrl: string | undefined): Promise<Check[]> {
  const events = await countPromotionalEventsAcrossTenants(db);
  if (events === 0) return [];
  const ok = baseUrl?.startsWith('https:') === true;
  const many = countOf(events, 'promotional event');
  const detail = ok
    ? `${many}, with one-click unsubscribe at ${baseUrl}`
    : `${many}, but BASE_URL is ${baseUrl ?? 'not set'}: set it to the public https address, which one-click unsubscribe needs`;
  return [{ name: 'unsubscribe', ok, detail }];
}

/** Tracked links and pictures are loaded from the public address. */
async function checkTracking({ db }: Deps, baseUrl: string | undefined): Promise<Check[]> {
  const categories = await countTrackedCategoriesAcrossTenants(db);
  if (categories === 0) return [];
  const ok = baseUrl !== undefined;
  const many = categories === 1 ? '1 category' : `${categories} categories`;
  const detail = ok
    ? `opens and clicks of ${many} are recorded at ${baseUrl}`
    : `opens and clicks of ${many} are not recorded: set BASE_URL to the public address, which tracked links lead to`;
  return [{ name: 'tracking', ok, detail }];
}

/** Recipients open the link on their own machines, which cannot reach a loopback address. */
async function checkAcknowledgeLinks(
  { db }: Deps,
  baseUrl: string | undefined,
  linkUrl: string | undefined,
): Promise<Check[]> {
  const count = await countAcknowledgeLinksAcrossTenants(db);
  if (count === 0) return [];
  const many = `${countOf(count, 'notification')} with acknowledge_url`;
  const missing = `but BASE_URL is not set: ${linkUrl ? 'the links work on this machine only' : 'set it to the public address'}`;
  const detail = `${many}, ${baseUrl ? `at ${baseUrl}` : missing}`;
  return [{ name: 'acknowledge links', ok: linkUrl !== undefined, detail }];
}

/** Returns no check if there are no webhooks. A tenant's failing endpoint is not a fault of this installation. */
async function checkWebhooks({ db }: Deps): Promise<Check[]> {
  const { all, disabled } = await countWebhooksAcrossTenants(db);
  if (all === 0) return [];
  const many = countOf(all, 'webhook');
  return [
    {
      name: 'webhooks',
      ok: true,
      detail: disabled > 0 ? `${many}, ${disabled} disabled after repeated failures` : many,
    },
  ];
}

/** Returns no check if nothing waits. That no one decides is not a fault of this installation. */
async function checkApprovals({ db, mailer }: Deps): Promise<Check[]> {
  const { open, expiring, firstMs } = await summarizeHoldsAcrossTenants(db);
  if (open === 0) return [];
  const minutes = Math.max(0, Math.round(firstMs! / 60_000));
  const first = minutes < 120 ? countOf(minutes, 'minute') : `${Math.round(minutes / 60)} hours`;
  const waits = `${countOf(open, 'occurrence')} ${open === 1 ? 'waits' : 'wait'} for an approval`;
  const fails = `the first fails in ${first}${expiring > 1 ? `, ${expiring} within two hours` : ''}`;
  const mails = mailer ? '' : '; set BELFRY_MAIL_URL to mail approvers';
  return [{ name: 'approvals', ok: true, detail: `${waits}: ${fails}${mails}` }];
}

/** Returns no check if there are no heartbeats. That a job does not call is not a fault of this installation. */
async function checkHeartbeats({ db }: Deps): Promise<Check[]> {
  const { all, missing, uncalled, first_missing, first_uncalled } = await summarizeHeartbeatsAcrossTenants(db);
  if (all === 0) return [];
  const named = (count: number, what: string, first: string[]) =>
    count === 0 ? [] : [`${count} ${what}: ${first.join(', ')}${count > first.length ? ' and others' : ''}`];
  const parts = [
    countOf(all, 'heartbeat'),
    ...named(missing, 'missing or failed', first_missing),
    ...named(uncalled, 'never called', first_uncalled),
  ];
  const hint = uncalled > 0 ? '; have the jobs call the addresses that their pages show' : '';
  return [{ name: 'heartbeats', ok: true, detail: `${parts.join('; ')}${hint}` }];
}

/** Reported, not thrown, so that the other checks still run: missing migrations, for one, have their own check. */
function failedChannels(error: Error): Check[] {
  return [{ name: 'channels', ok: false, detail: error.message }];
}

async function checkOutbox(source: OutboxSource): Promise<Check> {
  const outbox = new Outbox(source);
  try {
    return await check(`outbox ${source.name}`, async () => {
      const { pending, failed, lagMs } = await outbox.readState();
      const waiting = `${pending} waiting, the oldest for ${Math.round(lagMs / 1_000)} s`;
      if (lagMs > maxOutboxLagMs)
        throw new Error(`${waiting}: start a worker that has this outbox in BELFRY_OUTBOX_URLS`);
      if (failed > 0) {
        throw new Error(
          `${failed} rejected: see \`select seq, event, error from belfry.outbox where failed_at is not null\`, fix the ` +
            'cause, then retry them with `select belfry.retry()`, or delete them',
        );
      }
      return waiting;
    });
  } finally {
    await outbox.close();
  }
}
