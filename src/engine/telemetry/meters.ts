/**
 * The engine's metrics for Prometheus. They live in the engine's thread and are collected when /metrics is scraped: see
 * supervisor.ts. A message costs a handful of additions; gauges are computed on a scrape. Label values come from the
 * code, channel types and provider names, never from a tenant.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type pg from 'pg';
import { Gauge, Registry } from 'prom-client';
import { waitingStatuses } from '../../core/history/statuses.ts';
import { priorities } from '../../core/trigger.ts';
import type { OccurrenceFacts } from '../../db/history/occurrences.ts';
import type { Delivery, Settlement } from '../../db/ledger/deliver/deliveries.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';
import type { Outcome } from '../../providers/sending.ts';
import { Counter, Histogram, type MetricValues } from './fast-metrics.ts';

/** `open`: nothing is sent; `half_open`: one message tests the provider. */
export type CircuitState = 'closed' | 'open' | 'half_open';
export interface Circuit {
  type: string;
  provider: string;
  state: CircuitState;
}

/** Values that are read on a scrape. */
interface Gauges {
  inFlight: () => number[];
  circuits: (now: number) => Circuit[];
  pools: Record<string, pg.Pool>;
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600];
const sizes = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];
const unsettled = new Set<string>(waitingStatuses);
/** The interval of the timer that measures the delay of the event loop. */
const loopResolutionMs = 200;

export class Meters {
  readonly #registry = new Registry();
  readonly #loopDelay = monitorEventLoopDelay({ resolution: loopResolutionMs });
  #hasWorked = true;
  /** Channel types by channel id, of channels that were used. */
  readonly #types = new Map<number, string>();
  readonly #outcomes = new Counter('belfry_deliveries_total', 'Deliveries by outcome.', ['status', 'type', 'provider']);
  readonly #ended = new Counter('belfry_occurrences_total', 'Ended occurrences by outcome.', ['outcome']);
  readonly #attempts = new Counter('belfry_attempts_total', 'Provider calls by result.', [
    'type',
    'provider',
    'result',
  ]);
  readonly #retries = new Counter('belfry_retries_total', 'Deliveries that were scheduled for a retry.', [
    'type',
    'provider',
  ]);
  readonly #firstAttempt = new Histogram(
    'belfry_time_to_first_attempt_seconds',
    'Time from when a trigger was due to the end of the first attempt.',
    'class',
    seconds,
  );
  readonly #outcomeTime = new Histogram(
    'belfry_time_to_outcome_seconds',
    'Time from when a trigger was due to the outcome of a delivery.',
    'class',
    seconds,
  );
  readonly #batches = new Histogram('belfry_batch_size', 'Rows handled in one batch.', 'operation', sizes);
  readonly #webhookMessages = new Counter(
    'belfry_webhook_messages_total',
    'Attempts to send webhook messages, by outcome.',
    ['outcome'],
  );
  readonly #messageUpdates = new Counter(
    'belfry_message_updates_total',
    'Attempts to update or retract sent messages, by outcome.',
    ['outcome'],
  );
  readonly #sourceUpdates = new Counter(
    'belfry_source_updates_total',
    'Requests that report an acknowledgement or a resolution to the sender of an alert, by outcome.',
    ['outcome'],
  );
  readonly #expiredHolds = new Counter(
    'belfry_holds_expired_total',
    'Occurrences that failed because no one approved them in time, by the guard that held them.',
    ['kind'],
  );
  readonly #pages = new Counter('belfry_expanded_pages_total', 'Pages of recipients decided.', ['class']);
  readonly #expanded = new Counter('belfry_expanded_deliveries_total', 'Deliveries decided.', ['class']);

  constructor({ inFlight, circuits, pools }: Gauges) {
    this.#gauge('belfry_in_flight', 'Deliveries in flight in this worker.', ['class'], gauge => {
      for (const [i, count] of inFlight().entries()) gauge.set({ class: priorities[i]! }, count);
    });
    this.#gauge(
      'belfry_circuit_breakers',
      'Circuit breakers of providers, by state.',
      ['type', 'provider', 'state'],
      gauge => {
        gauge.reset();
        for (const { type, provider, state } of circuits(performance.now())) gauge.inc({ type, provider, state });
      },
    );
    const connections = "The engine's database connections, and callers waiting for one.";
    this.#gauge('belfry_engine_database_connections', connections, ['pool', 'state'], gauge => {
      for (const [pool, { totalCount, idleCount, waitingCount }] of Object.entries(pools)) {
        gauge.set({ pool, state: 'busy' }, totalCount - idleCount);
        gauge.set({ pool, state: 'idle' }, idleCount);
        gauge.set({ pool, state: 'waiting' }, waitingCount);
      }
    });
    const delay = this.#loopDelay;
    let previous = performance.eventLoopUtilization();
    const help = "Delay of the engine's event loop since the last scrape, while there was work.";
    this.#gauge('belfry_engine_loop_delay_seconds', help, ['quantile'], gauge => {
      // The histogram records the whole interval between two ticks of the timer.
      const lateness = (ns: number) => Math.max(0, ns / 1e9 - loopResolutionMs / 1e3);
      gauge.set({ quantile: '0.5' }, lateness(delay.percentile(50)));
      gauge.set({ quantile: '0.99' }, lateness(delay.percentile(99)));
      gauge.set({ quantile: '1' }, lateness(delay.max));
      delay.reset();
    });
    this.#gauge(
      'belfry_engine_loop_utilization',
      'Share of time the engine was busy since the last scrape.',
      [],
      gauge => {
        const now = performance.eventLoopUtilization();
        gauge.set(performance.eventLoopUtilization(now, previous).utilization);
        previous = now;
      },
    );
  }

  async read(): Promise<MetricValues> {
    const metrics = [
      this.#outcomes,
      this.#ended,
      this.#attempts,
      this.#retries,
      this.#firstAttempt,
      this.#outcomeTime,
      this.#batches,
      this.#webhookMessages,
      this.#messageUpdates,
      this.#sourceUpdates,
      this.#expiredHolds,
      this.#pages,
      this.#expanded,
    ];
    return [...(await this.#registry.getMetricsAsJSON()), ...metrics.map(one => one.toMetric())];
  }

  /**
   * Called every second. The timer that measures the event loop costs a seventh of an idle service's CPU time, so it is
   * off while there is no work.
   */
  tick(): void {
    if (this.#hasWorked) this.#loopDelay.enable();
    else this.#loopDelay.disable();
    this.#hasWorked = false;
  }

  /** Counts an attempt to send a webhook message: accepted, to be retried, or given up. */
  webhookAttempted(outcome: 'sent' | 'retried' | 'failed'): void {
    this.#hasWorked = true;
    this.#webhookMessages.add(1, outcome);
  }

  /** Counts an attempt to update or retract a message: done, to be retried, or given up. */
  messageUpdated(outcome: 'done' | 'retried' | 'failed'): void {
    this.#hasWorked = true;
    this.#messageUpdates.add(1, outcome);
  }

  sourceUpdated(outcome: 'done' | 'retried' | 'failed'): void {
    this.#hasWorked = true;
    this.#sourceUpdates.add(1, outcome);
  }

  holdExpired(kind: string): void {
    this.#hasWorked = true;
    this.#expiredHolds.add(1, kind);
  }

  /** Remembers the type of a channel that is about to be used. */
  rememberType({ id, type }: PlannedChannel): void {
    if (!this.#types.has(id)) this.#types.set(id, type);
  }

  attempted(type: string, provider: string, outcome: Outcome): void {
    const result = outcome.ok ? 'sent' : outcome.unknown ? 'unknown' : outcome.retry ? 'retry' : 'refused';
    this.#attempts.add(1, type, provider, result);
  }

  settled(delivery: Delivery, settlement: Settlement, occurrence: OccurrenceFacts | undefined): void {
    const { status, tried, attempts } = settlement;
    const provider = settlement.provider ?? 'none';
    const type = this.#types.get(delivery.channel_id) ?? 'none';
    const name = priorities[delivery.priority]!;
    const elapsed = occurrence ? Math.max(0, currentTime() - occurrence.due_at.getTime()) / 1_000 : undefined;
    if (tried && attempts === 1 && elapsed !== undefined) this.#firstAttempt.observe(name, elapsed);
    if (status === 'retrying' && tried) this.#retries.add(1, type, provider);
    if (unsettled.has(status)) return;
    this.#outcomes.add(1, status, type, provider);
    if (elapsed !== undefined) this.#outcomeTime.observe(name, elapsed);
  }

  expanded(pages: readonly { priority: number; deliveries: readonly { status: string; type: string }[] }[]): void {
    for (const { priority, deliveries } of pages) {
      const name = priorities[priority]!;
      this.#pages.add(1, name);
      this.#expanded.add(deliveries.length, name);
      for (const { status, type } of deliveries) {
        if (status === 'suppressed') this.#outcomes.add(1, status, type, 'none');
      }
    }
  }

  /** Counts occurrences that ended. */
  ended(outcomes: readonly string[]): void {
    for (const outcome of outcomes) this.#ended.add(1, outcome);
  }

  batch(operation: 'claim' | 'expand' | 'settle', size: number): void {
    if (size === 0) return;
    this.#hasWorked = true;
    this.#batches.observe(operation, size);
  }

  #gauge(name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => void): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        collect(this);
      },
    });
  }
}
