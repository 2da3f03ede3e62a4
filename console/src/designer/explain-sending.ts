/** What the rules of a notification about how often it is sent mean, in a sentence. Pure, so that it can be read and tested. */
import { texts } from '../texts/designer.ts';

export interface Throttle {
  /** As it is typed. */
  most: number | string;
  per: string;
  /** Empty: all together. */
  key: string;
  /** What becomes of the others. */
  overflow: 'drop' | 'digest';
}

export interface Digest {
  /** A duration, or a cron expression. */
  every: string;
  /** Empty: all together. */
  key: string;
  /** Whether the first one is sent at once. */
  sendsFirst: boolean;
  /** As it is typed; empty: the usual. */
  most: number | string;
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

/** `1h` is "an hour", `30m` "in 30 minutes"; undefined where it is no duration. */
export function explainPeriod(per: string): string | undefined {
  const [, amount, unit = ''] = /^([1-9]\d{0,8})([smhd])$/.exec(per.trim()) ?? [];
  const words = units[unit];
  if (!amount || !words) return undefined;
  return amount === '1' ? words[0] : texts.within(amount, words[1]);
}

/** One sentence for each rule; none where there is no rule, or it is not whole yet. */
export function explainSending({ throttle, digest }: SendingRules): string[] {
  return [...(throttle ? explainThrottle(throttle) : []), ...(digest ? explainDigest(digest) : [])];
}

/** `1h` is "for an hour", `0 9 * * *` "until 09:00"; undefined where it is neither. */
export function explainWindow(every: string): string | undefined {
  const [, amount, unit = ''] = /^([1-9]\d{0,8})([smhd])$/.exec(every.trim()) ?? [];
  const words = units[unit];
  if (amount && words) return amount === '1' ? texts.forOne(words[0]) : texts.forMany(amount, words[1]);
  const fields = every.trim().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute = '', hour = '', ...days] = fields;
  const isDaily = /^\d{1,2}$/.test(minute) && /^\d{1,2}$/.test(hour) && days.every(day => day === '*');
  return isDaily ? texts.untilTime(hour.padStart(2, '0'), minute.padStart(2, '0')) : texts.untilCron(every.trim());
}

function explainDigest({ every, key, sendsFirst }: Digest): string[] {
  const window = explainWindow(every);
  if (window === undefined) return [];
  const by = key.trim() === '' ? '' : texts.perKey(key.trim());
  return [sendsFirst ? texts.gathersAfterFirst(window, by) : texts.gathers(window, by)];
}

function explainThrottle({ most, per, key, overflow }: Throttle): string[] {
  const period = explainPeriod(per);
  if (period === undefined || !(Number(most) >= 1)) return [];
  const by = key.trim() === '' ? '' : texts.perKey(key.trim());
  const rest = overflow === 'digest' ? texts.restIsGathered : texts.restIsDropped;
  return [texts.atMost(most, period, by, rest)];
}
