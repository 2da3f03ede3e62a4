/** What is stopped while a slow receiver has hundreds of messages ahead of it: only those that it is accepting still arrive. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import { settleLedger } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const recipients = 300;
/** The requests that a channel has in flight. */
const maxInCall = 32;
const sinkMs = 500;

type Stop = (
  ask: (method: string, path: string, body?: object) => Promise<Record<string, unknown>>,
  stage: Stage,
  occurrence: string,
) => Promise<unknown>;

const asker = (stage: Stage) => async (method: string, path: string, body?: object) => {
  const response = await fetch(`${stage.alive('api')[0]!.address}/api/o/chaos${path}`, {
    method,
    headers: { authorization: `Key ${stage.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text ? JSON.parse(text) : {}) as Record<string, unknown>;
};

const stopped = (title: string, stop: Stop): Scenario => ({
  title,
  async run(scenario) {
    const stage = await Stage.open({ recipients, sinkMs, roles: ['api', 'worker'] });
    try {
      const occurrence = await triggerOnce(stage, 0);
      await waitFor('the first messages', async () => (await stage.count()) >= maxInCall);
      const answer = (await stop(asker(stage), stage, occurrence!)) as { sending?: number } | undefined;
      const faultAt = Date.now();
      const before = await stage.received();
      // Held messages stay pending; everything else ends.
      await waitFor('nothing to be in flight', async () => (await stage.inFlight()) === 0, 30_000);
      await sleep(2 * sinkMs);
      const received = await stage.received();
      const late = received.length - before.length;
      const allowed = answer?.sending ?? maxInCall;
      const broken: string[] = [];
      if (late > allowed) broken.push(`${late} messages arrived after the stop was confirmed, where ${allowed} may`);
      const [{ recorded, sent }] = (await runSql<{ recorded: number; sent: number }>(
        stage.url,
        `select count(*)::int as recorded, count(*) filter (where status = 'sent')::int as sent from deliveries`,
      )) as [{ recorded: number; sent: number }];
      if (recorded !== recipients) broken.push(`${recipients - recorded} recipients have no delivery`);
      if (sent !== received.length)
        broken.push(`${received.length} messages arrived, and ${sent} are recorded as sent`);
      const reached = new Set(received.map(({ recipient }) => recipient));
      return {
        scenario,
        accepted: 1,
        expected: reached.size,
        delivered: reached.size,
        lost: 0,
        duplicates: received.length - reached.size,
        duplicates_explained: 0,
        resumed_s: 0,
        recovered_s: Math.round((Math.max(0, ...received.map(({ at }) => at - faultAt)) / 1_000) * 10) / 10,
        broken,
        pass: broken.length === 0 && received.length === reached.size,
      };
    } finally {
      await stage.close();
    }
  },
});

export const cancelMeansStop = stopped(
  'an occurrence is cancelled while its messages wait for a slow receiver',
  (ask, _, occurrence) => ask('POST', `/occurrence/${occurrence}/cancel/`),
);

export const pauseMeansStop = stopped('a channel is paused while its messages wait for a slow receiver', ask =>
  ask('POST', '/c/hooks/pause/'),
);

export const deletedMeansStop = stopped(
  'the recipients of messages that wait for a slow receiver are deleted',
  async (ask, stage) => {
    for (const email of stage.recipients) await ask('DELETE', `/u/${email}/`);
  },
);

export const optOutMeansStop = stopped(
  'the recipients of messages that wait for a slow receiver opt out',
  async (ask, stage) => {
    for (const email of stage.recipients) {
      await ask('PATCH', `/u/${email}/preferences/`, { preferences: [{ enabled: false }] });
    }
  },
);

/** Several pages of recipients; the worker expands no further than it can send. */
const fanOutSize = 20_000;

const fanOutStopped = (title: string, reason: string, stop: Stop): Scenario => ({
  title,
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 1, sinkMs, roles: ['api', 'worker'] });
    try {
      await stage.addRecipients(fanOutSize * scale);
      const occurrence = (await triggerOnce(stage, 0))!;
      await waitFor('the first messages', async () => (await stage.count()) >= maxInCall);
      await stop(asker(stage), stage, occurrence);
      const faultAt = Date.now();
      const broken = await stage.finish();
      const isCounted = async () => (await runSql(stage.url, 'select from unexpanded_counts')).length === 0;
      await waitFor('the count of the others', isCounted, 60_000).catch(error => broken.push((error as Error).message));
      broken.push(...(await stage.findUnaccounted(new Map([[occurrence, stage.recipients.length]]))));
      const text = 'select sent, deliveries, unexpanded, reason from occurrences';
      type Row = { sent: number; deliveries: number; unexpanded: number | null; reason: string };
      const [{ sent, deliveries, unexpanded, reason: recorded }] = (await runSql<Row>(stage.url, text)) as [Row];
      if (deliveries + (unexpanded ?? 0) > stage.recipients.length) broken.push('more messages than recipients');
      if (recorded !== reason) broken.push(`the reason on record is ${recorded}`);
      if (!unexpanded) broken.push('the fan-out had no further page');
      const received = await stage.received();
      if (sent !== received.length)
        broken.push(`${received.length} messages arrived, and ${sent} are recorded as sent`);
      console.log(`  ${sent} sent, ${deliveries - sent} on record, ${unexpanded} not reached`);
      const recipients = [...new Set(received.map(({ recipient }) => recipient))];
      const facts = { scenario, accepted: [occurrence], recipients, received, faultAt, mayRepeat: new Map(), broken };
      return settleLedger(facts);
    } finally {
      await stage.close();
    }
  },
});

export const fanOutCancelled = fanOutStopped(
  'a fan-out of several pages is cancelled during its first messages',
  'cancelled',
  (ask, _, occurrence) => ask('POST', `/occurrence/${occurrence}/cancel/`),
);

export const fanOutEventDeleted = fanOutStopped(
  'the event of a fan-out of several pages is deleted during its first messages',
  'event.missing',
  ask => ask('DELETE', '/p/shop/a/web/e/go/?cascade=true'),
);

export const fanOutEventInactive = fanOutStopped(
  'the event of a fan-out of several pages is switched off during its first messages',
  'event.inactive',
  ask => ask('PATCH', '/p/shop/a/web/e/go/', { active: false }),
);
