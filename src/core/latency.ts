/** How long messages took, kept as counts in a few buckets: enough to tell percentiles, small enough to keep for good. */

/** In milliseconds, where one bucket ends and the next begins; the last bucket has no end. */
export const latencyBounds = [
  10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000,
] as const;

/**
 * The time within which this share of the messages was sent, or null of none; `counts` by bucket. Within a bucket they
 * are taken to lie evenly, so the answer is never further off than the bucket is wide.
 */
export function latencyPercentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count === 0 || below + count < share * total) {
      below += count;
      continue;
    }
    const from = latencyBounds[bucket - 1] ?? 0;
    const to = latencyBounds[bucket] ?? from;
    return Math.round(from + ((to - from) * (share * total - below)) / count);
  }
  return latencyBounds.at(-1)!;
}
