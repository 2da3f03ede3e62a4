/**
 * A storm of alerts, each for everyone, while half of the processes are killed. Everyone must get a first page early and one message
 * about the rest, and every alert must be accounted for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Ledger, Receipt } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { lastArrivalMs, Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const users = 50;
const payloads = 20;
const firstWithinMs = 10_000;
/** From the kill until what the killed worker was sending has arrived again. */
const recoveredWithinMs = 30_000;
const waitMs = 300_000;

const numberOf = (index: number) => `+49151123${String(index).padStart(5, '0')}`;

const notification = {
  priority: 'urgent',
  steps: [{ channels: ['sms'] }],
  message: { subject: 'Alert', body: '{{ title }}' },
};

/** These users get one more alert before the storm: the killed worker is sending it. */
const earlyPrefix = 'p1';
const isEarly = (email: string) => email.startsWith(earlyPrefix);

const smsChannel = (sinkUrl: string) => ({
  slug: 'sms',
  name: 'SMS',
  type: 'sms',
  providers: [
    {
      use: 'sms-gateway',
      url: `${sinkUrl}/sms`,
      body: '{"title":"{to}","text":"{text}"}',
      headers: { 'webhook-id': '{id}' },
      timeout_ms: 60_000,
    },
  ],
});

export const storm: Scenario = {
  title: `10,000 alerts for ${users} users arrive at once, and half of the processes are killed with kill -9`,
  async run(scenario, scale) {
    const size = Math.round(10_000 * scale ** 2);
    const stage = await Stage.open({
      recipients: users,
      // Keeps the first pages in flight until their worker is killed.
      sinkMs: 2_000,
      roles: ['api', 'api', 'worker', 'worker'],
      notification,
      events: { early: { ...notification, recipients: { users: `starts_with(email, '${earlyPrefix}')` } } },
      channels: sinkUrl => [smsChannel(sinkUrl)],
      describeUser: index => ({ addresses: [{ name: 'sms', value: numberOf(index) }] }),
      sources: [{ slug: 'monitoring', name: 'Monitoring', use: 'alertmanager', routes: [{ event: 'go' }] }],
    });
    try {
      const token = await readToken(stage);
      // Only the worker that is killed can claim the first pages.
      const [holder, other] = stage.alive('worker');
      other!.process.kill('SIGSTOP');
      const began = Date.now();
      await triggerOnce(stage, 0, { dedup_key: 'early' }, { event: 'early' });
      const held = await waitFor('first pages to be with a worker', () => listHeld(stage), 60_000);
      const posting = Promise.all(
        Array.from({ length: payloads }, (_, i) => {
          const from = Math.round((i * size) / payloads);
          return post(stage, token, from, Math.round(((i + 1) * size) / payloads));
        }),
      );
      const killedAt = Date.now();
      await Promise.all([holder!.end('SIGKILL'), stage.alive('api')[0]!.end('SIGKILL')]);
      other!.process.kill('SIGCONT');
      await posting;
      const postedMs = Date.now() - began;
      const broken = await stage.finish(waitMs);
      return await settle(stage, { scenario, size, began, postedMs, held, killedAt, broken });
    } finally {
      await stage.close();
    }
  },
};

async function readToken(stage: Stage): Promise<string> {
  const url = `${stage.alive('api')[0]!.address}/api/o/chaos/p/shop/a/web/sources/monitoring/address/`;
  const response = await fetch(url, { headers: { authorization: `Key ${stage.key}` } });
  return ((await response.json()) as { token: string }).token;
}

/** Posts alerts as Alertmanager does, again until they are accepted. */
async function post(stage: Stage, token: string, from: number, to: number): Promise<void> {
  const alerts = Array.from({ length: to - from }, (_, i) => ({
    status: 'firing',
    labels: {
      alertname: 'DiskFull',
      instance: `host-${from + i}`,
      severity: (from + i) % 4 === 0 ? 'critical' : 'warning',
    },
    annotations: { summary: `alert ${from + i}` },
    startsAt: new Date().toISOString(),
    endsAt: '0001-01-01T00:00:00Z',
    fingerprint: `fingerprint-${from + i}`,
  }));
  const body = JSON.stringify({
    version: '4',
    groupKey: `group-${from}`,
    status: 'firing',
    receiver: 'belfry',
    alerts,
  });
  for (;;) {
    const apis = stage.alive('api');
    const { address } = apis[from % apis.length]!;
    const status = await fetch(`${address}/in/${token}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(60_000),
    }).then(
      async response => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return;
    await sleep(200);
  }
}

interface Facts {
  scenario: string;
  size: number;
  began: number;
  postedMs: number;
  /** The ids of the messages that the killed worker was sending. */
  held: ReadonlySet<string>;
  killedAt: number;
  broken: string[];
}

async function settle(
  stage: Stage,
  { scenario, size, began, postedMs, held, killedAt, broken }: Facts,
): Promise<Ledger> {
  const received = await stage.received();
  const messages = [...new Map(received.map(one => [one.id, one])).values()];
  const byUser = Map.groupBy(messages, ({ recipient }) => recipient);
  const firsts = stage.recipients.map((_, i) => {
    const own = byUser.get(numberOf(i)) ?? [];
    const ms = own.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY) - began;
    const isHeld = isEarly(stage.recipients[i]!);
    const missing = size + Number(isHeld) - own.reduce(countAlerts, 0);
    return { ms, isHeld, missing, messages: own.length };
  });
  const late = firsts.filter(({ ms, isHeld }) => ms > (isHeld ? recoveredWithinMs : firstWithinMs));
  if (late.length > 0)
    broken.push(`${late.length} first pages were late, by up to ${Math.max(...late.map(one => one.ms))} ms`);
  // Nothing is on record about what the killed worker was sending, so each is sent again.
  const again = received.filter(({ id, at }) => held.has(id) && at > killedAt + lastArrivalMs);
  const unrecovered = held.size - new Set(again.map(({ id }) => id)).size;
  if (unrecovered > 0) broken.push(`${unrecovered} messages of the killed worker were not sent again`);
  const recoveredMs = again.reduce((last, { at }) => Math.max(last, at), killedAt) - killedAt;
  if (recoveredMs > recoveredWithinMs) broken.push(`what the killed worker held took ${recoveredMs} ms`);
  const most = Math.max(...firsts.map(one => one.messages));
  if (most > 2) broken.push(`a user got ${most} messages`);
  const wrong = firsts.filter(({ missing }) => missing !== 0);
  if (wrong.length > 0)
    broken.push(`${wrong.length} users got messages that lack alerts, such as ${wrong[0]!.missing}`);
  const early = firsts.filter(({ isHeld }) => isHeld).length;
  if (held.size !== early) broken.push(`the killed worker held ${held.size} first pages, not ${early}`);
  const [ledger] = await runSql<{ occurrences: number; complete: number; sent: number }>(
    stage.url,
    `select count(*)::int as occurrences, count(*) filter (where o.deliveries = ${users})::int as complete,
       sum(o.sent)::int as sent from occurrences o`,
  );
  const { occurrences, complete, sent } = ledger!;
  if (occurrences !== size + 1) broken.push(`${size + 1} alerts became ${occurrences} occurrences`);
  if (complete !== size) broken.push(`${size - complete} occurrences do not account for their audience`);
  const duplicates = received.length - messages.length;
  const explained = held.size;
  if (duplicates > explained)
    broken.push(`${duplicates} messages arrived twice, but killed workers had claimed only ${explained}`);
  const lastAt = received.reduce((last, { at }) => Math.max(last, at), began);
  const seconds = (ms: number) => Math.round(ms / 100) / 10;
  console.log(
    `  stored after ${seconds(postedMs)} s, first pages after ${seconds(Math.max(...firsts.filter(one => !one.isHeld).map(({ ms }) => ms)))} s, ` +
      `${held.size} of the killed worker again ${seconds(recoveredMs)} s after it, ` +
      `the last message after ${seconds(lastAt - began)} s, at most ${most} messages for a user`,
  );
  const expected = size * users + early;
  return {
    scenario,
    accepted: occurrences,
    expected,
    delivered: sent,
    lost: expected - sent,
    duplicates,
    duplicates_explained: explained,
    resumed_s: seconds(Math.max(...firsts.map(({ ms }) => ms))),
    recovered_s: seconds(lastAt - began),
    broken,
    pass: sent === expected && broken.length === 0,
  };
}

/** A message is about one alert, or about as many as it says. */
function countAlerts(sum: number, { text }: Receipt): number {
  const [, count] = /^(\d+) alerts/.exec(text!) ?? [];
  return sum + Number(count ?? 1);
}

/** Returns the ids of messages that are being sent; undefined if there are none. */
async function listHeld(stage: Stage): Promise<ReadonlySet<string> | undefined> {
  const text = `select occurrence_id || '.' || id as id from deliveries where status = 'sending'`;
  const rows = await runSql<{ id: string }>(stage.url, text);
  return rows.length > 0 ? new Set(rows.map(({ id }) => id)) : undefined;
}
