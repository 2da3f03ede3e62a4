/**
 * How long messages took, kept as counts in buckets that each reach a tenth further than the one before: enough to tell
 * percentiles within a twentieth, at any scale, and small enough to keep for good.
 */
const growth = 1.1;
/** About 140 days; whatever took longer is counted there. */
const lastBucket = 244;

/** SQL text: the bucket of a number of milliseconds. Bucket n ends at 1.1ⁿ ms, and bucket 0 is all up to 1 ms. */
export function latencyBucketText(ms: string): string {
  return `least(${lastBucket}, ceil(ln(greatest(1, ${ms})) / ln(${growth})))::smallint`;
}

/** The time within which this share of the messages was sent, or null of none. */
export function latencyPercentile(counts: readonly { bucket: number; count: number }[], share: number): number | null {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  let left = share * total;
  for (const { bucket, count } of counts.toSorted((a, b) => a.bucket - b.bucket)) {
    left -= count;
    if (count > 0 && left <= 0) return Math.round(growth ** (bucket - 0.5));
  }
  return null;
}
