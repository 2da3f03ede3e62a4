/**
 * Counters and histograms that are updated for every message, in prom-client's output format. They take 1 µs per
 * message; prom-client's own take 5 µs, a twentieth of a fan-out message's cost.
 */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

export type MetricValues = MetricObjectWithValues<MetricValue<string>>[];
type Metric = MetricValues[number];

/** Separates label values; it occurs in none of them. */
const separator = '\n';

/** Counts by label values. */
export class Counter {
  readonly #name: string;
  readonly #help: string;
  readonly #labelNames: string[];
  readonly #counts = new Map<string, number>();

  constructor(name: string, help: string, labelNames: string[]) {
    this.#name = name;
    this.#help = help;
    this.#labelNames = labelNames;
  }

  /** Takes the label values in the order of the label names. */
  add(count: number, first: string, second?: string, third?: string): void {
    let key = first;
    if (second !== undefined) key += separator + second;
    if (third !== undefined) key += separator + third;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  toMetric(): Metric {
    const values = [...this.#counts].map(([key, value]) => {
      const labelValues = key.split(separator);
      return { labels: Object.fromEntries(this.#labelNames.map((name, i) => [name, labelValues[i]!])), value };
    });
    return toMetric(this.#name, this.#help, 'counter', values);
  }
}

interface Buckets {
  /** Counts of each bucket, not cumulative; the last one is above all bounds. */
  counts: number[];
  sum: number;
}

/** A histogram with one label. */
export class Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #label: string;
  readonly #bounds: number[];
  readonly #byLabel = new Map<string, Buckets>();

  constructor(name: string, help: string, label: string, bounds: number[]) {
    this.#name = name;
    this.#help = help;
    this.#label = label;
    this.#bounds = bounds;
  }

  observe(label: string, value: number): void {
    let buckets = this.#byLabel.get(label);
    if (!buckets) {
      buckets = { counts: new Array(this.#bounds.length + 1).fill(0), sum: 0 };
      this.#byLabel.set(label, buckets);
    }
    let i = 0;
    while (i < this.#bounds.length && value > this.#bounds[i]!) i++;
    buckets.counts[i]!++;
    buckets.sum += value;
  }

  toMetric(): Metric {
    const values = [...this.#byLabel].flatMap(([label, { counts, sum }]) => {
      const labels = { [this.#label]: label };
      let cumulative = 0;
      const buckets = counts.map((count, i) => {
        cumulative += count;
        return {
          labels: { le: this.#bounds[i] ?? '+Inf', ...labels },
          value: cumulative,
          metricName: `${this.#name}_bucket`,
        };
      });
      return [
        ...buckets,
        { labels, value: sum, metricName: `${this.#name}_sum` },
        { labels, value: cumulative, metricName: `${this.#name}_count` },
      ];
    });
    return toMetric(this.#name, this.#help, 'histogram', values);
  }
}

/** prom-client uses strings for types here, contrary to its own declarations. */
function toMetric(name: string, help: string, type: string, values: MetricValue<string>[]): Metric {
  return { name, help, type, values, aggregator: 'sum' } as unknown as Metric;
}
