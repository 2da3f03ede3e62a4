/**
 * Collects triggers for two of fifty users each in digests that keep closing, while workers are killed and every tenth trigger is
 * cancelled. Each item must be in exactly one sent digest, and cancelled items in none.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { runSql } from '../../test/support/sql.ts';
import type { Ledger, Receipt } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const users = 50;
const kills = 3;
const atOnce = 20;
/** Interval at which all open digests are closed, instead of waiting for a real window. */
const closeEveryMs = 400;

const notification = {
  recipients: { trigger: true },
  digest: { every: '1m', max: 500 },
  message: { subject: '{{ user.email }}', body: '{{ more }}{% for item in items %} {{ item.context.n }}{% endfor %}' },
};

export const digestKilled: Scenario = {
  title: `a worker is killed with kill -9 ${kills} times while 2,000 triggers are collected in the digests of ${users} users`,
  async run(scenario, scale) {
    const size = Math.round(2_000 * scale);
    const roles = ['api', 'worker', 'worker'] as const;
    const stage = await Stage.open({ recipients: users, sinkMs: 20, roles: [...roles], notification });
    try {
      const began = Date.now();
      const cancelled = new Set<string>();
      const accepted = new Map<string, number>();
      let claimedByKilled = 0;
      let isOver = false;
      const closing = (async () => {
        while (!isOver) {
          await closeAll(stage).catch(() => {});
          await sleep(closeEveryMs);
        }
      })();
      let next = 0;
      const triggering = Array.from({ length: atOnce }, async () => {
        for (let n = next++; n < size; n = next++) {
          const occurrence = await triggerOnce(stage, n, { recipients: recipientsOf(stage, n) });
          if (!occurrence) continue;
          accepted.set(occurrence, n);
          if (n % 10 === 0 && (await cancel(stage, occurrence))) cancelled.add(occurrence);
          // Spreads the triggers over the time in which workers are killed.
          await sleep((6_000 * Math.max(scale, 0.5) * atOnce) / size);
        }
      });
      for (let kill = 0; kill < kills; kill++) {
        await sleep(1_200 + Math.random() * 600);
        await stage.alive('worker')[0]!.end('SIGKILL');
        claimedByKilled += (await stage.leftBehind()).keys.size;
        await stage.start('worker');
      }
      await Promise.all(triggering);
      const faultOverAt = Date.now();
      const broken = await stage.finish();
      isOver = true;
      await closing;
      return await settle(stage, { scenario, accepted, cancelled, began, faultOverAt, claimedByKilled, broken });
    } finally {
      await stage.close();
    }
  },
};

function recipientsOf(stage: Stage, n: number): string[] {
  return [stage.recipients[n % users]!, stage.recipients[(n * 7 + 1) % users]!];
}

/** Closes all digests, as if their time had come. */
async function closeAll(stage: Stage): Promise<void> {
  await runSql(
    stage.url,
    `update deliveries set due_at = now() where status = 'pending' and digest_id is not null and due_at > now()
       and due_at < timestamptz '9999-01-01'`,
  );
}

/** Returns whether both items were removed before they were sent. */
async function cancel(stage: Stage, occurrence: string): Promise<boolean> {
  const url = `${stage.alive('api')[0]!.address}/api/o/chaos/occurrence/${occurrence}/cancel/`;
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Key ${stage.key}` } });
  const { cancelled = 0 } = (await response.json()) as { cancelled?: number };
  return response.status === 200 && cancelled === 2;
}

interface Facts {
  scenario: string;
  accepted: Map<string, number>;
  cancelled: Set<string>;
  began: number;
  faultOverAt: number;
  /** Messages that killed workers left behind and that may arrive again. */
  claimedByKilled: number;
  broken: string[];
}

async function settle(stage: Stage, facts: Facts): Promise<Ledger> {
  const { scenario, accepted, cancelled, began, faultOverAt, claimedByKilled, broken } = facts;
  const received = await stage.received();
  // Arrivals with the same id are one message; the receiver keeps the last one.
  const messages = [...new Map(received.map(one => [one.id, one])).values()];
  const items = messages.flatMap(({ recipient, text }) =>
    text!
      .split(' ')
      .slice(1)
      .map(n => `${n} ${recipient}`),
  );
  const times = new Map<string, number>();
  for (const item of items) times.set(item, (times.get(item) ?? 0) + 1);

  const ledger = await runSql<{ id: string; email: string; status: string; digest_id: string | null }>(
    stage.url,
    `select d.occurrence_id as id, u.email, d.status, d.digest_id from deliveries d
     join users u on u.organization_id = d.organization_id and u.id = d.user_id`,
  );
  const isSent = new Map(ledger.map(row => [`${accepted.get(row.id)} ${row.email}`, row.status === 'sent']));
  const undone = ledger.filter(({ status }) => status !== 'sent' && status !== 'cancelled').length;
  if (undone > 0) broken.push(`${undone} deliveries were neither sent nor cancelled`);
  const nameless = ledger.filter(({ status, digest_id }) => status === 'sent' && !digest_id).length;
  if (nameless > 0) broken.push(`${nameless} deliveries do not name their digest`);
  const wrong = items.filter(item => !isSent.get(item)).length;
  if (wrong > 0) broken.push(`${wrong} items arrived that were cancelled`);
  const twice = [...times.values()].filter(count => count > 1).length;
  if (twice > 0) broken.push(`${twice} items are in two digests`);
  const stopped = [...cancelled].flatMap(id =>
    recipientsOf(stage, accepted.get(id)!).map(one => isSent.get(`${accepted.get(id)} ${one}`)),
  );
  if (stopped.some(Boolean)) broken.push('items were sent although their cancellation was confirmed');
  const partly = messages.filter(({ text }) => !text!.startsWith('0 ')).length;
  if (partly > 0) broken.push(`${partly} digests are empty or incomplete`);

  // A cancelled item is only expected if it had already been sent.
  const isExpected = (n: number, item: string) => n % 10 !== 0 || isSent.get(item) === true;
  const expected = [...accepted.values()].flatMap(n =>
    recipientsOf(stage, n)
      .map(one => `${n} ${one}`)
      .filter(item => isExpected(n, item)),
  );
  const lost = expected.filter(item => !times.has(item)).length;
  const duplicates = received.length - messages.length;
  if (duplicates > claimedByKilled)
    broken.push(`${duplicates} messages arrived twice, but killed workers had claimed only ${claimedByKilled}`);
  return {
    scenario,
    accepted: accepted.size,
    expected: expected.length,
    delivered: expected.length - lost,
    lost,
    duplicates,
    duplicates_explained: claimedByKilled,
    resumed_s: seconds(
      began,
      received.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY),
    ),
    recovered_s: seconds(
      faultOverAt,
      received.reduce((last, { at }: Receipt) => Math.max(last, at), faultOverAt),
    ),
    broken,
    pass: lost === 0 && broken.length === 0 && cancelled.size > 0 && expected.length > 0,
  };
}

const seconds = (from: number, to: number) => Math.round((to - from) / 100) / 10;
