/**
 * Latency histogram with buckets that grow by 10 %: percentiles are accurate to about 5 % at any scale, and the counts are
 * small enough to keep forever.
 */
const growth = 1.1;
/** About 140 days; longer latencies are counted in this bucket. */
const lastBucket = 244;

/** Returns SQL that maps milliseconds to a bucket. Bucket n ends at 1.1ⁿ ms; bucket 0 holds everything up to 1 ms. */
export function latencyBucketText(ms: string): string {
  return `least(${lastBucket}, ceil(ln(greatest(1, ${ms})) / ln(${growth})))::smallint`;
}

/** Returns the time in milliseconds within which this share of the messages was sent; null when there are none. */
export function latencyPercentile(counts: readonly { bucket: number; count: number }[], share: number): number | null {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  let left = share * total;
  for (const { bucket, count } of counts.toSorted((a, b) => a.bucket - b.bucket)) {
    left -= count;
    if (count > 0 && left <= 0) return Math.round(growth ** (bucket - 0.5));
  }
  return null;
}
