/** Explains a notification's throttle and digest in plain sentences. Free of React, so that it can be tested. */
import { texts } from '../texts/designer.ts';

export interface Throttle {
  /** As typed into the field. */
  max: number | string;
  per: string;
  /** Empty: all messages are counted together. */
  key: string;
  /** What happens to messages over the limit. */
  overflow: 'drop' | 'digest';
}

export interface Digest {
  /** A duration or a cron expression. */
  every: string;
  /** Empty: one digest for all messages. */
  key: string;
  /** Whether the first message is sent immediately. */
  sendsFirst: boolean;
  /** As typed into the field; empty: the default. */
  max: number | string;
}

export interface SendingRules {
  throttle: Throttle | null;
  digest: Digest | null;
}

const units: Record<string, [one: string, many: string]> = {
  s: [texts.aSecond, texts.seconds],
  m: [texts.aMinute, texts.minutes],
  h: [texts.anHour, texts.hours],
  d: [texts.aDay, texts.days],
};

/** `1h` is "an hour", `30m` is "in 30 minutes"; undefined if it is not a duration. */
export function explainPeriod(per: string): string | undefined {
  const [, amount, unit = ''] = /^([1-9]\d{0,8})([smhd])$/.exec(per.trim()) ?? [];
  const names = units[unit];
  if (!amount || !names) return undefined;
  return amount === '1' ? names[0] : texts.within(amount, names[1]);
}

/** Returns one sentence for each complete rule. */
export function explainSending({ throttle, digest }: SendingRules): string[] {
  return [...(throttle ? explainThrottle(throttle) : []), ...(digest ? explainDigest(digest) : [])];
}

/** `1h` is "for an hour", `0 9 * * *` is "until 09:00"; undefined if it is neither a duration nor a cron expression. */
export function explainWindow(every: string): string | undefined {
  const [, amount, unit = ''] = /^([1-9]\d{0,8})([smhd])$/.exec(every.trim()) ?? [];
  const names = units[unit];
  if (amount && names) return amount === '1' ? texts.forOne(names[0]) : texts.forMany(amount, names[1]);
  const fields = every.trim().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute = '', hour = '', ...days] = fields;
  const isDaily = /^\d{1,2}$/.test(minute) && /^\d{1,2}$/.test(hour) && days.every(day => day === '*');
  return isDaily ? texts.untilTime(hour.padStart(2, '0'), minute.padStart(2, '0')) : texts.untilCron(every.trim());
}

function explainDigest({ every, key, sendsFirst }: Digest): string[] {
  const window = explainWindow(every);
  if (window === undefined) return [];
  return [(sendsFirst ? texts.collectsAfterFirst : texts.collects)(withKey(window, key))];
}

function explainThrottle({ max, per, key, overflow }: Throttle): string[] {
  const period = explainPeriod(per);
  if (period === undefined || !(Number(max) >= 1)) return [];
  return [(overflow === 'digest' ? texts.atMostThenDigest : texts.atMostThenDrop)(max, withKey(period, key))];
}

function withKey(period: string, key: string): string {
  return key.trim() === '' ? period : texts.perKey(period, key.trim());
}
