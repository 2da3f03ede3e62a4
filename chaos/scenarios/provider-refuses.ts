/** A provider that responds, but accepts no messages for a while. No message may arrive twice: a refused one has not arrived. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import { keyOf, type Receipt } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';
import { webhookChannel } from '../tenant.ts';

const retryAfterSeconds = 3_600;

export const providerLimits: Scenario = {
  title: 'the receiver of one channel responds with 429 and asks to wait for an hour',
  async run(scenario, scale) {
    const stage = await Stage.open({
      recipients: 3,
      roles: ['api', 'worker'],
      channels: sinkUrl => [webhookChannel('other', [`${sinkUrl}/hook/other`])],
      events: { other: { channels: ['other'] } },
    });
    try {
      const limited = startStream(stage, 50);
      const other = startStream(stage, 50, { event: 'other' });
      await sleep(2_000 * scale);
      const faultAt = Date.now();
      await stage.mode('limit');
      await waitFor('a message to be refused', async () => (await stage.refused()).length > 0);
      const sent = (await stage.received()).filter(isLimited).length;
      await sleep(5_000 * scale);
      await stage.mode('ok');
      // The receiver would accept messages again, but has asked to wait.
      await sleep(2_000 * scale);
      await Promise.all([limited.stop(), other.stop()]);
      const broken = await findEarlyAttempts(stage, faultAt, sent);
      const arrived = new Set((await stage.received()).map(({ occurrence }) => occurrence));
      const delayed = other.accepted.filter(occurrence => !arrived.has(occurrence)).length;
      if (delayed > 0) broken.push(`${delayed} triggers of the other channel were delayed`);

      // An hour later. The circuit breaker of the worker that received the 429 counts time in its own memory.
      const [worker] = stage.alive('worker');
      await worker!.end('SIGTERM');
      const faultOverAt = Date.now();
      const shift = `update deliveries set due_at = due_at - interval '${retryAfterSeconds} seconds' where status = 'retrying'`;
      await runSql(stage.url, shift);
      await stage.start('worker');
      const accepted = [...limited.accepted, ...other.accepted];
      return await stage.settle({ scenario, accepted, faultAt, faultOverAt, broken });
    } finally {
      await stage.close();
    }
  },
};

const isLimited = ({ path }: Receipt) => path === '/hook';

/** Waits until every limited message waits, and finds those that were attempted again or are due too early. */
async function findEarlyAttempts(stage: Stage, faultAt: number, sent: number): Promise<string[]> {
  const broken: string[] = [];
  const active = `select from occurrences where status = any('{accepted,expanding}')
    union all select from deliveries where status = any('{pending,sending}')`;
  await waitFor('every message to be sent or to wait', async () => (await runSql(stage.url, active)).length === 0);
  const waiting = await runSql<{ status: string; seconds: number }>(
    stage.url,
    `select d.status, extract(epoch from d.due_at - to_timestamp($1::float8 / 1000))::float8 as seconds
     from deliveries d join channels c on c.organization_id = d.organization_id and c.id = d.channel_id
     where c.slug = 'hooks' and d.status <> 'sent'`,
    [faultAt],
  );
  if (waiting.length === 0) broken.push('no message waits');
  const ended = waiting.filter(({ status }) => status !== 'retrying').length;
  if (ended > 0) broken.push(`${ended} messages ended instead of waiting`);
  const maxSeconds = retryAfterSeconds + (Date.now() - faultAt) / 1_000;
  const wrong = waiting.filter(({ seconds }) => seconds < retryAfterSeconds - 1 || seconds > maxSeconds);
  if (wrong.length > 0)
    broken.push(`${wrong.length} messages are not due in an hour, such as in ${wrong[0]!.seconds} s`);
  const refused = await stage.refused();
  const again = refused.length - new Set(refused.map(keyOf)).size;
  if (again > 0) broken.push(`${again} messages were attempted again within the hour`);
  // Messages that were in flight when the mode changed may have arrived before the first refusal.
  const later = (await stage.received()).filter(isLimited).length - sent;
  if (later > 0) broken.push(`${later} messages were sent although the receiver had asked to wait`);
  return broken;
}

export const provider5xx: Scenario = {
  title: 'the receiver responds with 5xx for two minutes',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, roles: ['api', 'worker'] });
    try {
      // Few triggers in a quick run: ten failures in a row would open the circuit breaker for half a minute.
      const stream = startStream(stage, scale < 1 ? 2 : 20);
      await sleep(2_000 * scale);
      const faultAt = Date.now();
      await stage.mode('error');
      await sleep(scale < 1 ? 1_200 : 120_000);
      await stage.mode('ok');
      const faultOverAt = Date.now();
      await sleep(2_000 * scale);
      await stream.stop();
      const broken = (await stage.refused()).length === 0 ? ['the receiver refused no message'] : [];
      return await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt, broken });
    } finally {
      await stage.close();
    }
  },
};

export const failover: Scenario = {
  title: 'the first of two providers of a channel responds with 5xx for a while',
  async run(scenario, scale) {
    const [first, second] = ['/hook/first', '/hook/second'];
    const stage = await Stage.open({
      recipients: 3,
      roles: ['api', 'worker'],
      channels: sinkUrl => [webhookChannel('hooks', [`${sinkUrl}${first}`, `${sinkUrl}${second}`])],
    });
    try {
      const stream = startStream(stage, 20);
      await sleep(2_000 * scale);
      const faultAt = Date.now();
      await stage.mode('error', first);
      await waitFor('the second provider to be used', async () => uses(await stage.received(), second) > 0);
      await sleep(5_000 * scale);
      await stage.mode('ok', first);
      const faultOverAt = Date.now();
      const used = uses(await stage.received(), first);
      // The circuit breaker tests the first provider after half a minute.
      const isUsedAgain = async () => uses(await stage.received(), first) > used + 3;
      const broken: string[] = [];
      await waitFor('the first provider to be used again', isUsedAgain, 60_000).catch(error =>
        broken.push(error.message),
      );
      const recoveredAt = Date.now();
      await sleep(2_000 * scale);
      await stream.stop();
      const ledger = await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt, broken });
      const received = await stage.received();
      // Earlier triggers may have been assigned to the second provider before the first one recovered.
      const isLate = ({ path, occurrence }: Receipt) =>
        path === second && stream.acceptedAt.get(occurrence)! > recoveredAt;
      const late = received.filter(isLate).length;
      if (late > 0) ledger.broken.push(`${late} messages went to the second provider after the first had recovered`);
      const tested = new Set((await stage.refused()).map(keyOf));
      const rerouted = received.filter(one => one.path === second && tested.has(keyOf(one))).length;
      if (rerouted === 0) ledger.broken.push('no message that the first provider had refused was sent by the second');
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
    }
  },
};

function uses(received: readonly Receipt[], path: string): number {
  return received.filter(one => one.path === path).length;
}
