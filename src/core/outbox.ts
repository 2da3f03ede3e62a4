/** Outboxes: which databases of applications are drained, for which organization, and what may still be sent from them. */

export interface OutboxSource {
  /** Slug of the organization whose events its rows name. */
  organization: string;
  url: string;
  /** Host and name, for metrics: nothing secret, and nothing of a tenant. */
  database: string;
  /** For logs: the same with the organization. */
  name: string;
}

/** Whatever waited longer is kept and told, not sent: nobody wants last month's alarm because a drain was mended. */
export const mostAgeMs = 7 * 86_400_000;
/** Clocks differ a little. */
export const mostAheadMs = 86_400_000;

/** `acme=postgres://user:password@host/shop`, several separated by spaces or commas. */
export function readOutboxSources(text: string): { sources: OutboxSource[] } | { mistakes: string[] } {
  const sources: OutboxSource[] = [];
  const mistakes: string[] = [];
  for (const [i, entry] of text.split(/[\s,]+(?=[\w-]+=)/).entries()) {
    if (entry === '') continue;
    const [, organization, url] = /^([\w-]+)=(.*)$/s.exec(entry) ?? [];
    const parsed = url && URL.canParse(url) ? new URL(url) : undefined;
    // The entry itself may hold a password: it is named by its place.
    if (!organization || !parsed || !['postgres:', 'postgresql:'].includes(parsed.protocol)) {
      mistakes.push(`entry ${i + 1} is not of the form ORGANIZATION=postgres://user:password@host/database`);
      continue;
    }
    const database = `${parsed.host}${parsed.pathname}`;
    sources.push({ organization, url: url!, database, name: `${organization}@${database}` });
  }
  const names = sources.map(({ name }) => name);
  const twice = names.filter((name, i) => names.indexOf(name) !== i);
  if (twice.length > 0) mistakes.push(`names ${twice.join(', ')} twice`);
  return mistakes.length > 0 ? { mistakes } : { sources };
}

/** Why a row of this time is not sent any more, or undefined. */
export function refuseTime(createdAt: Date, now: number): string | undefined {
  const ageMs = now - createdAt.getTime();
  if (ageMs > mostAgeMs) {
    return `waited for more than ${mostAgeMs / 86_400_000} days: select belfry.retry(seq) sends it all the same`;
  }
  if (ageMs < -mostAheadMs) return 'is dated more than a day ahead: set the clock of this database (NTP)';
  return undefined;
}
