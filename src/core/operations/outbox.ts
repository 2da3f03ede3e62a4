/** Outbox sources: the application databases that are drained, for which organization, and which rows are refused. */

import { timeOfUuid } from '../ids.ts';

export interface OutboxSource {
  /** Slug of the organization whose events the rows trigger. */
  organization: string;
  url: string;
  /** Host and database name, for metrics: contains neither secrets nor tenant data. */
  database: string;
  /** The organization and the database, for logs. */
  name: string;
}

/** Older rows are kept and reported instead of sent, so that fixing a drain does not send outdated alarms. */
const maxAgeMs = 7 * 86_400_000;
/** Tolerance for clock differences. */
const maxAheadMs = 86_400_000;

/** Parses `acme=postgres://user:password@host/shop`; several entries are separated by spaces or commas. */
export function readOutboxSources(text: string): { sources: OutboxSource[] } | { mistakes: string[] } {
  const sources: OutboxSource[] = [];
  const mistakes: string[] = [];
  for (const [i, entry] of text.split(/[\s,]+(?=[\w-]+=)/).entries()) {
    if (entry === '') continue;
    const [, organization, url] = /^([\w-]+)=(.*)$/s.exec(entry) ?? [];
    const parsed = url && URL.canParse(url) ? new URL(url) : undefined;
    // The entry may contain a password, so the message refers to it by position.
    if (!organization || !parsed || !['postgres:', 'postgresql:'].includes(parsed.protocol)) {
      mistakes.push(`entry ${i + 1} is not of the form ORGANIZATION=postgres://user:password@host/database`);
      continue;
    }
    const database = `${parsed.host}${parsed.pathname}`;
    sources.push({ organization, url: url!, database, name: `${organization}@${database}` });
  }
  const names = sources.map(({ name }) => name);
  const duplicates = names.filter((name, i) => names.indexOf(name) !== i);
  if (duplicates.length > 0) mistakes.push(`contains ${duplicates.join(', ')} more than once`);
  return mistakes.length > 0 ? { mistakes } : { sources };
}

/** Returns why a row with this time is not sent, or undefined. */
export function refuseTime(createdAt: Date | null, now: number): string | undefined {
  if (!createdAt) return 'is dated before the year 2000 or after 9999: set created_at to the time of the commit';
  const ageMs = now - createdAt.getTime();
  if (ageMs > maxAgeMs) {
    return `is more than ${maxAgeMs / 86_400_000} days old: run select belfry.retry(seq) to send it anyway`;
  }
  if (ageMs < -maxAheadMs) return 'is dated more than a day in the future: correct the clock of this database (NTP)';
  return undefined;
}

/**
 * Returns why a row with this id is not sent, or undefined. Occurrences are partitioned by the month in their id, so an id
 * of another time would create a partition for that month.
 */
export function refuseId(id: string, createdAt: Date): string | undefined {
  if (id[14] === '7' && Math.abs(timeOfUuid(id) - createdAt.getTime()) <= maxAheadMs) return undefined;
  return 'has an id that does not match created_at: call belfry.notify, which sets both';
}
