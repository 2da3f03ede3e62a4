/**
 * Generates what happened in the demo: 30 days with a daily rhythm, from a seed. Every row is what the engine would have stored.
 * What was in effect at the time holds for each message: suppressed addresses, preferences and locked users.
 */
import { createHash } from 'node:crypto';
import { describeSuppression, type SuppressionReason } from '../../../core/audience/suppressions.ts';
import { retryMsOf } from '../../../core/history/retries.ts';
import type { EndedStatus } from '../../../core/history/statuses.ts';
import { toUuid } from '../../../core/ids.ts';
import type { JsonObject } from '../../../core/json.ts';
import { compileSchedule, whoIsOnCall } from '../../../core/oncall/schedule.ts';

const [secondMs, minuteMs, hourMs, dayMs] = [1_000, 60_000, 3_600_000, 86_400_000];
export const historyDays = 30;
/** An attempt that failed, as `deliveries.failed_attempts` stores it. */
interface FailedAttempt {
  at: string;
  ms: number;
  detail: string;
  outcome: 'failed';
  provider: string;
}

export interface GeneratedDelivery {
  user: string;
  channel: string;
  status: EndedStatus;
  reason: string | null;
  detail: string | null;
  attempts: number;
  created: number;
  due: number;
  /** When it was sent, also if it bounced later. */
  sent: number | null;
  attemptMs: number | null;
  failedAttempts: FailedAttempt[] | null;
  /** The digest that it was sent with. */
  digest: string | null;
  released: number | null;
  step: number;
  feedback?: {
    type: 'bounced' | 'complained';
    permanent: boolean | null;
    reason: string | null;
    detail: string | null;
    at: number;
  };
}

export interface GeneratedOccurrence {
  id: string;
  /** Application and event. */
  event: string;
  context: JsonObject;
  options: JsonObject;
  created: number;
  completed: number;
  triggers: number;
  priority: number;
  dedupKey: string | null;
  acknowledged: { at: number; by: string } | null;
  resolved: { at: number; by: string } | null;
  deliveries: GeneratedDelivery[];
  steps: GeneratedStep[];
}

export interface GeneratedStep {
  number: number;
  step: number;
  status: 'done' | 'ended';
  reason: string | null;
  due: number;
  ended: number;
  notified: number;
}

export interface GeneratedHistory {
  from: number;
  occurrences: GeneratedOccurrence[];
  suppressions: { target: string; reason: SuppressionReason; detail: string | null; since: number }[];
  optOuts: { user: string; category: string; source: 'one-click' | 'page'; at: number }[];
}

/** What reports feedback in the demo: no service did. */
export const demoSource = 'demo';

const customers = ['ada', 'alan', 'grace'];
const shoppers = [
  ...customers,
  'barbara',
  'edsger',
  'frances',
  'hedy',
  'john',
  'katherine',
  'margaret',
  'radia',
  'tim',
];
const subscribers = [...shoppers, 'linus', 'bounce'];
const mailOf = (name: string) => `${name}@demo.test`;

/** Who is woken when the checkout is down. */
export const demoTurns = {
  timezone: 'Europe/Berlin',
  layers: [{ name: 'Week', every: '1w', from: '2026-01-05T09:00', users: ['grace', 'ada', 'alan'].map(mailOf) }],
  combine: 'cover' as const,
};

const topics = [
  'Autumn colors',
  'New in the shop',
  'Ten gifts under 20 EUR',
  'How we pack without plastic',
  'Spring sale',
];
const reviews = [
  'Works as described.',
  'A little loud.',
  'Arrived a day early.',
  'Would buy again.',
  'The lid is too tight.',
];

/** Share of the day's orders by hour (UTC): quiet nights, a peak at noon and a higher one in the evening. */
const rhythm = [1, 1, 0, 0, 0, 1, 2, 4, 6, 7, 8, 9, 11, 9, 7, 7, 8, 9, 11, 12, 10, 7, 4, 2];
const weekend = 1.35;

/** Generates the history up to a quarter of an hour ago, so that all of it has ended. */
export function generateHistory(now: number): GeneratedHistory {
  const random = createRandom(20_260_101);
  const from = now - historyDays * dayMs;
  const until = now - 15 * minuteMs;
  const at = (days: number, hours: number) => Math.floor((now - days * dayMs) / dayMs) * dayMs + hours * hourMs;
  const between = (low: number, high: number) => low + random() * (high - low);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const idAt = (time: number) => seededUuid(time, random);

  // Newsletters are sent once a week; reports about them come minutes later.
  const issues = [27, 20, 13, 6].map(days => at(days, 9) + 2 * minuteMs);
  const suppressions: GeneratedHistory['suppressions'] = [
    { target: mailOf('hedy'), reason: 'bounced', detail: '550 5.1.1 unknown user', since: issues[0]! + 3 * minuteMs },
    { target: mailOf('edsger'), reason: 'complained', detail: null, since: issues[1]! + 47 * minuteMs },
  ];
  const optOuts: GeneratedHistory['optOuts'] = [
    { user: mailOf('tim'), category: 'news', source: 'one-click', at: issues[1]! + 96 * minuteMs },
    { user: mailOf('radia'), category: 'news', source: 'page', at: issues[2]! + 11 * hourMs },
  ];
  // For some minutes, the provider of texts failed: most messages were sent by a retry, and one had used up its attempts.
  const outage = { from: at(4, 17) + 12 * minuteMs, until: at(4, 18) + 31 * minuteMs };

  const occurrences: GeneratedOccurrence[] = [];
  const add = (
    event: string,
    created: number,
    fields: Pick<GeneratedOccurrence, 'context' | 'options' | 'deliveries'> & Partial<GeneratedOccurrence>,
  ) => {
    const ends = fields.deliveries.map(endOf);
    const rest = { triggers: 1, priority: 1, dedupKey: null, acknowledged: null, resolved: null, steps: [] };
    occurrences.push({ id: idAt(created), event, created, completed: Math.max(...ends), ...rest, ...fields });
  };

  /** Decides and sends one message like the engine. */
  const send = (
    name: string,
    channel: string,
    created: number,
    options: { category?: string; step?: number } = {},
  ): GeneratedDelivery => {
    const user = mailOf(name);
    const base = {
      user,
      channel,
      created,
      due: created,
      digest: null,
      released: null,
      step: options.step ?? 0,
      failedAttempts: null,
    };
    const stopped = (reason: string, detail: string | null = null): GeneratedDelivery => ({
      ...base,
      ...{ status: 'suppressed', reason, detail, attempts: 0, sent: null, attemptMs: null },
    });
    if (name === 'linus') return stopped('user.locked');
    const optOut = optOuts.find(one => one.user === user && one.category === options.category && one.at <= created);
    if (optOut) {
      const day = new Date(optOut.at).toISOString().slice(0, 10);
      return stopped('preference.off', `category ${optOut.category} via email, ${optOut.source} on ${day}`);
    }
    const entry = channel === 'mail' && suppressions.find(one => one.target === user && one.since <= created);
    if (entry) {
      return stopped(
        'address.suppressed',
        describeSuppression({ ...entry, source: demoSource, since: new Date(entry.since) }),
      );
    }
    const provider = channel === 'app' ? 'inbox' : 'sandbox';
    const ms = Math.round(channel === 'app' ? between(4, 19) : between(35, 240) * (random() < 0.06 ? 5 : 1));
    const first = created + Math.round(between(4, 60));
    if (name === 'bounce' && provider === 'sandbox') {
      const detail = 'the sandbox refuses addresses that start with bounce@';
      const failed = failedAttempt(first, 1, detail, provider);
      return {
        ...base,
        ...{ status: 'failed', reason: 'provider.failed', detail, attempts: 1, sent: null, attemptMs: 1 },
        failedAttempts: [failed],
      };
    }
    const failedAttempts: FailedAttempt[] = [];
    let [start, due] = [first, created];
    const end = first + ms + retryMsOf({ type: 'sms', retry: null });
    let isOver = false;
    while (channel === 'texts' && start >= outage.from && start < outage.until && !isOver) {
      failedAttempts.push(failedAttempt(start, ms, 'the provider answered 503 (generated for the demo)', provider));
      isOver = start >= end;
      const delay = 5 * secondMs * 2 ** (failedAttempts.length - 1) * between(0.5, 1);
      due = Math.min(start + ms + Math.round(delay), end);
      start = due + Math.round(between(4, 60));
    }
    const tried = { ...base, due, attemptMs: ms, failedAttempts: failedAttempts.length > 0 ? failedAttempts : null };
    if (isOver) {
      const { at, detail } = failedAttempts.at(-1)!;
      const used = { due: Date.parse(at), attempts: failedAttempts.length, sent: null };
      return { ...tried, ...used, status: 'failed', reason: 'provider.failed', detail };
    }
    const attempts = failedAttempts.length + 1;
    return { ...tried, ...{ status: 'sent', reason: null, detail: null, attempts, sent: start + ms } };
  };

  // Orders, sign-in codes and shipments, hour by hour.
  let order = 1_000;
  for (let hour = Math.ceil(from / hourMs) * hourMs; hour < until; hour += hourMs) {
    const date = new Date(hour);
    const busy = rhythm[date.getUTCHours()]! * ([0, 6].includes(date.getUTCDay()) ? weekend : 1);
    const times = (share: number) =>
      Array.from({ length: Math.floor(busy * share + random()) }, () => hour + Math.floor(random() * hourMs))
        .filter(time => time < until)
        .sort((a, b) => a - b);
    for (const time of times(0.12)) {
      const name = pick(customers);
      const created = time + Math.round(between(15, 80));
      const context = { order: `A-${++order}`, amount: `${between(8, 190).toFixed(2)} EUR` };
      const deliveries = [send(name, 'mail', created), send(name, 'app', created)];
      add('web/order-paid', time, { context, options: { limit_to: [mailOf(name)] }, deliveries });
    }
    for (const time of times(0.16)) {
      const name = pick(shoppers);
      const created = time + Math.round(between(15, 80));
      const context = { order: `A-${order - Math.floor(between(2, 40))}`, carrier: pick(['DHL', 'UPS', 'PostNL']) };
      const deliveries = [send(name, 'mail', created), send(name, 'app', created)];
      add('web/order-shipped', time, { context, options: { recipients: [mailOf(name)] }, deliveries });
    }
    for (const time of times(0.1)) {
      const name = pick(shoppers);
      const created = time + Math.round(between(10, 40));
      const context = { code: String(Math.floor(between(100_000, 999_999))) };
      const deliveries = [send(name, 'texts', created)];
      add('web/sign-in-code', time, { context, options: { recipients: [mailOf(name)] }, priority: 0, deliveries });
    }
  }
  // The codes of an impatient customer during the outage.
  for (const minutes of [1, 5, 9, 14, 17]) {
    const time = outage.from + minutes * minuteMs;
    const deliveries = [send('katherine', 'texts', time + 20)];
    add('web/sign-in-code', time, {
      context: { code: String(481_500 + minutes) },
      options: { recipients: [mailOf('katherine')] },
      priority: 0,
      deliveries,
    });
  }

  for (const [i, time] of issues.entries()) {
    const created = time + 120;
    const deliveries = subscribers.map(name => send(name, 'mail', created, { category: 'news' }));
    for (const delivery of deliveries.filter(one => one.status === 'sent')) report(delivery, suppressions, i);
    add('web/newsletter', time, { context: { title: topics[i]! }, options: {}, deliveries });
  }

  // Reviews of an afternoon, sent as one digest when its hour ends.
  for (const days of [26, 19, 15, 9, 5, 2, 1]) {
    const opened = at(days, 14) + Math.round(between(0, 40) * minuteMs);
    const digest = idAt(opened);
    const closes = opened + hourMs;
    if (closes + minuteMs > until) continue;
    const sent = closes + Math.round(between(60, 300));
    const count = 2 + Math.floor(random() * 4);
    const texts = reviews.slice(0, count);
    texts.forEach((text, i) => {
      const time = i === 0 ? opened : opened + Math.round((i / count) * 50 * minuteMs);
      const created = time + 30;
      // The first one carries the digest; the others are never due.
      const own =
        i === 0
          ? { attempts: 1, attemptMs: sent - closes - 20, due: closes }
          : { attempts: 0, attemptMs: null, due: Date.UTC(9999, 11, 31) };
      const delivery: GeneratedDelivery = {
        ...{ user: mailOf('grace'), channel: 'mail', status: 'sent', reason: null, detail: null, created, sent },
        ...{ failedAttempts: null, digest, released: own.due, step: 0 },
        ...own,
      };
      add('web/review-added', time, { context: { text }, options: {}, deliveries: [delivery] });
    });
  }

  // Three pages: one acknowledged from the chat, one after a text, one resolved by the next check.
  for (const { days, hours, minutes, resolvedAfter } of [
    { days: 22, hours: 3, minutes: 6, resolvedAfter: null },
    { days: 11, hours: 18, minutes: 19, resolvedAfter: 55 },
    { days: 4, hours: 17, minutes: 4, resolvedAfter: 28 },
  ]) {
    const time = at(days, hours) + 14 * minuteMs;
    const [username] = whoIsOnCall(compileSchedule(demoTurns), time).users as [string];
    const name = username.replace('@demo.test', '');
    const acknowledged = { at: time + minutes * minuteMs, by: username };
    const begun = time + 60;
    const deliveries = ['ops-chat', 'app'].map(channel => send(name, channel, begun, { step: 1 }));
    const steps: GeneratedStep[] = [
      { number: 1, step: 1, status: 'done', reason: null, due: time, ended: begun, notified: 2 },
    ];
    let due = begun + 15 * minuteMs;
    if (due < acknowledged.at) {
      deliveries.push(send(name, 'texts', due + 40, { step: 2 }));
      steps.push({ number: 2, step: 2, status: 'done', reason: null, due, ended: due + 40, notified: 1 });
      due += 40 + 15 * minuteMs;
    }
    steps.push({
      number: steps.length + 1,
      step: 2,
      status: 'ended',
      reason: 'acknowledged',
      due,
      ended: acknowledged.at,
      notified: 0,
    });
    add('monitoring/checkout-down', time, {
      ...{
        context: { title: 'Checkout is down', failures: 9 + days },
        options: { dedup_key: 'checkout' },
        dedupKey: 'checkout',
        deliveries,
        steps,
      },
      ...{ acknowledged, completed: acknowledged.at, triggers: 1 + Math.floor(minutes / 3) },
      resolved: resolvedAfter === null ? null : { at: time + resolvedAfter * minuteMs, by: 'API key demo' },
    });
  }
  return { from, occurrences: occurrences.sort((a, b) => a.created - b.created), suppressions, optOuts };
}

/** Adds what was reported about a newsletter after it was sent. */
function report(delivery: GeneratedDelivery, suppressions: GeneratedHistory['suppressions'], issue: number): void {
  const entry = suppressions.find(one => one.target === delivery.user);
  if (entry && entry.since - delivery.created < hourMs && entry.since > delivery.created) {
    const bounced = entry.reason === 'bounced';
    delivery.feedback = {
      ...{ type: bounced ? 'bounced' : 'complained', permanent: bounced ? true : null, detail: entry.detail },
      ...{ reason: bounced ? 'unknown_user' : null, at: entry.since },
    };
  } else if (issue === 2 && delivery.user === mailOf('john')) {
    const at = delivery.sent! + 21 * minuteMs;
    delivery.feedback = {
      type: 'bounced',
      permanent: false,
      reason: 'mailbox_full',
      detail: '452 4.2.2 mailbox full',
      at,
    };
  }
  if (delivery.feedback?.type !== 'bounced') return;
  Object.assign(delivery, { status: 'failed', reason: 'bounced', detail: delivery.feedback.detail });
}

function failedAttempt(at: number, ms: number, detail: string, provider: string): FailedAttempt {
  return { at: new Date(at).toISOString(), ms, detail, outcome: 'failed', provider };
}

/** When the delivery got its outcome. */
export function endOf({ sent, failedAttempts, created }: GeneratedDelivery): number {
  const last = failedAttempts?.at(-1);
  return sent ?? (last ? Date.parse(last.at) + last.ms : created);
}

/** A generator of numbers between 0 and 1 (mulberry32): the same ones for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a UUIDv7 of that time whose other bits come from the generator. */
function seededUuid(time: number, random: () => number): string {
  const digits = createHash('sha256').update(`${time} ${random()}`).digest('hex');
  const head = Math.floor(time).toString(16).padStart(12, '0');
  return toUuid(`${head}7${digits.slice(0, 3)}8${digits.slice(3, 18)}`);
}
