/** What is stopped while a slow receiver has hundreds of messages ahead of it: only those that it is accepting still arrive. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
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

const stopped = (title: string, stop: Stop): Scenario => ({
  title,
  async run(scenario) {
    const stage = await Stage.open({ recipients, sinkMs, roles: ['api', 'worker'] });
    try {
      const occurrence = await triggerOnce(stage, 0);
      await waitFor('the first messages', async () => (await stage.count()) >= maxInCall);
      const ask = async (method: string, path: string, body?: object) => {
        const response = await fetch(`${stage.alive('api')[0]!.address}/api/o/chaos${path}`, {
          method,
          headers: { authorization: `Key ${stage.key}`, ...(body && { 'content-type': 'application/json' }) },
          ...(body && { body: JSON.stringify(body) }),
        });
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
        return (await response.json()) as Record<string, unknown>;
      };
      const answer = (await stop(ask, stage, occurrence!)) as { sending?: number } | undefined;
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
