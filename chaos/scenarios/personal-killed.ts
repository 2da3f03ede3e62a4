/**
 * Escalates by personal rules: push, text message and call to the one on call, to the next one, and to a manager, while workers are
 * killed. Every second escalation is acknowledged at a random moment. No message may come early, more than 30 seconds late, or more than
 * a second after its acknowledgement got a 200.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { runSql } from '../../test/support/sql.ts';
import type { Ledger, Receipt } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';
import { acknowledge, graceMs } from './acknowledged-means-stop.ts';

/** When the messages of a step follow it, by the path of the sink at which each arrives. */
const ruleSeconds = { '/push': 0, '/sms': 3, '/voice': 6 };
const stepSeconds = 10;
const lateMs = 30_000;
/** The clock of PostgreSQL decides what is due, and its times are rounded. */
const earlyMs = 100;
const killEveryMs = 3_000;

const people = ['the one on call', 'the next one', 'a manager'];
const important = [{ by: 'push' }, { by: 'sms', after: '3s' }, { by: 'voice', after: '6s' }];
const numberOf = (kind: number, index: number) => `+4915${kind}123${String(index).padStart(5, '0')}`;
const later = { after: `${stepSeconds}s`, unless: 'acknowledged', channels: ['personal'] };

const notification = {
  priority: 'urgent',
  recipients: { schedule: 'primary' },
  steps: [
    { channels: ['personal'] },
    { ...later, recipients: { schedule: 'primary', offset: 1 } },
    { ...later, recipients: { list: 'Managers' } },
  ],
  message: { subject: 'Page', body: 'page {{ n }} for {{ user.email }}.' },
};

const account = { account_sid: `AC${'0'.repeat(32)}`, auth_token: 'none', from: '+15555550100' };

const channels = (sinkUrl: string) =>
  Object.entries({
    push: { use: 'ntfy', endpoint: `${sinkUrl}/push` },
    sms: { use: 'sms-gateway', url: `${sinkUrl}/sms` },
    voice: { use: 'twilio-voice', ...account, endpoint: `${sinkUrl}/voice` },
  }).map(([type, provider]) => ({
    ...{ slug: type, name: type, type },
    providers: [{ ...provider, timeout_ms: 60_000 }],
  }));

/** Its turns change neither during the scenario nor later than is looked ahead. */
function describeSchedule(): object {
  const from = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 16);
  const users = ['p0@chaos.test', 'p1@chaos.test'];
  return { slug: 'primary', name: 'Primary', timezone: 'UTC', layers: [{ name: 'all', every: '300d', from, users }] };
}

export const personalKilled: Scenario = {
  title:
    'workers are killed with kill -9 while 300 escalations follow personal rules and half of them are acknowledged',
  async run(scenario, scale) {
    const size = Math.round(300 * scale);
    const stage = await Stage.open({
      recipients: people.length,
      sinkMs: 20,
      roles: ['api', 'worker', 'worker'],
      notification,
      channels,
      schedules: [describeSchedule()],
      lists: { Managers: ['p2@chaos.test'] },
      describeUser: index => ({
        reach: { important },
        addresses: [
          { name: 'push', value: `p${index}` },
          { name: 'sms', value: numberOf(1, index) },
          { name: 'voice', value: numberOf(2, index) },
        ],
      }),
    });
    try {
      const accepted = new Map<number, string>();
      const answered = new Map<number, number>();
      const acknowledging: Promise<void>[] = [];
      const lastSeconds = (people.length - 1) * stepSeconds + Math.max(...Object.values(ruleSeconds));
      const began = Date.now();
      let claimedByKilled = 0;
      let isOver = false;
      const killing = (async () => {
        while (!isOver) {
          await sleep(killEveryMs * (0.5 + Math.random()));
          const [victim] = stage.alive('worker');
          await victim!.end('SIGKILL');
          claimedByKilled += (await stage.leftBehind()).keys.size;
          await stage.start('worker');
        }
      })();
      for (let n = 0; n < size; n++) {
        const occurrence = await triggerOnce(stage, n);
        if (!occurrence) continue;
        accepted.set(n, occurrence);
        if (n % 2 === 0) continue;
        acknowledging.push(
          sleep(Math.random() * lastSeconds * 1_000)
            .then(() => acknowledge(stage, occurrence))
            .then(at => void answered.set(n, at)),
        );
      }
      await sleep(Math.max(0, began + lastSeconds * 1_000 - Date.now()));
      isOver = true;
      await Promise.all([killing, ...acknowledging]);
      const broken = await stage.finish();
      return await settle(stage, { scenario, accepted, answered, began, claimedByKilled, broken });
    } finally {
      await stage.close();
    }
  },
};

interface Facts {
  scenario: string;
  /** Occurrences by the number of their trigger. */
  accepted: Map<number, string>;
  /** When the acknowledgement of each got its 200. */
  answered: Map<number, number>;
  began: number;
  /** Messages that killed workers left behind and that may arrive again. */
  claimedByKilled: number;
  broken: string[];
}

async function settle(stage: Stage, facts: Facts): Promise<Ledger> {
  const { scenario, accepted, answered, began, claimedByKilled, broken } = facts;
  const created = await runSql<{ id: string; created_at: Date }>(stage.url, 'select id, created_at from occurrences');
  const createdAt = new Map(created.map(({ id, created_at }) => [id, created_at.getTime()]));
  // Once it is acknowledged, ntfy's notifications are changed in place.
  const received = (await stage.received()).filter(({ text }) => !text?.includes('"sequence_id"')).map(readPage);
  const pages = Map.groupBy(received, ({ n, person, path }) => `${n} ${person} ${path}`);
  let [expected, delivered, maxLateMs] = [0, 0, 0];
  for (const [n, occurrence] of accepted) {
    for (const [person, name] of people.entries()) {
      for (const [path, seconds] of Object.entries(ruleSeconds)) {
        const page = `the page ${n} of ${name} by ${path.slice(1)}`;
        const dueAt = createdAt.get(occurrence)! + (person * stepSeconds + seconds) * 1_000;
        const until = (answered.get(n) ?? Number.POSITIVE_INFINITY) + graceMs;
        const found = pages.get(`${n} ${person} ${path}`) ?? [];
        if (!answered.has(n)) {
          expected++;
          if (found.length > 0) delivered++;
        }
        for (const { at } of found)
          if (at > until) broken.push(`${page} came ${at - until} ms after the acknowledgement`);
        const [first] = found.map(({ at }) => at - dueAt).sort((a, b) => a - b);
        if (first === undefined) continue;
        if (first < -earlyMs) broken.push(`${page} came ${-first} ms early`);
        if (first > lateMs) broken.push(`${page} came ${first} ms late`);
        maxLateMs = Math.max(maxLateMs, first);
      }
    }
  }
  const duplicates = received.length - pages.size;
  if (duplicates > claimedByKilled)
    broken.push(`${duplicates} messages arrived twice, but killed workers had claimed only ${claimedByKilled}`);
  const seconds = (ms: number) => Math.round(ms / 100) / 10;
  console.log(`  at most ${seconds(maxLateMs)} s late`);
  const lost = expected - delivered;
  return {
    scenario,
    accepted: accepted.size,
    expected,
    delivered,
    lost,
    duplicates,
    duplicates_explained: claimedByKilled,
    resumed_s: seconds(maxLateMs),
    recovered_s: seconds(received.reduce((last, { at }) => Math.max(last, at), began) - began),
    broken: broken.slice(0, 10),
    pass: lost === 0 && broken.length === 0 && answered.size > 0 && expected > 0,
  };
}

/** Each service has its own format, so that the text says which message it is. */
function readPage({ at, text = '', path = '' }: Receipt) {
  const [, n, person] = /page (\d+) for p(\d)@chaos\.test\./.exec(text) ?? [];
  if (n === undefined) throw new Error(`an unexpected message arrived at ${path}: ${text.slice(0, 200)}`);
  return { at, n: Number(n), person: Number(person), path: `/${path.split('/')[1]}` };
}
