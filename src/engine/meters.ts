/**
 * What the engine counts about itself, for Prometheus. It lives in the engine's thread and is asked when somebody reads
 * /metrics: see supervisor.ts. A message costs a handful of additions; gauges are read only when asked for. Labels come
 * from the code and from channel types and provider names, never from a tenant.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type pg from 'pg';
import { Gauge, Registry } from 'prom-client';
import { waitingStatuses } from '../core/statuses.ts';
import { priorities } from '../core/trigger.ts';
import type { Delivery, Settlement } from '../db/deliveries.ts';
import type { OccurrenceFacts } from '../db/occurrences.ts';
import type { Outcome } from '../providers/sending.ts';
import type { PlannedChannel } from '../services/plans.ts';
import { Distribution, type MetricValues, Tally } from './tallies.ts';

/** `open`: nothing is sent to it; `half_open`: its rest is over, and one message tries. */
export type CircuitState = 'closed' | 'open' | 'half_open';
export interface Circuit {
  type: string;
  provider: string;
  state: CircuitState;
}

/** What is read only when somebody looks. */
export interface Gauges {
  inFlight: () => number[];
  circuits: (now: number) => Circuit[];
  pools: Record<string, pg.Pool>;
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600];
const sizes = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];
const unsettled = new Set<string>(waitingStatuses);
/** How often the timer that measures wakes the thread. */
const loopResolutionMs = 200;

export class Meters {
  readonly #registry = new Registry();
  readonly #loopDelay = monitorEventLoopDelay({ resolution: loopResolutionMs });
  #hasWorked = true;
  /** Of the channels that messages went to, by id. */
  readonly #types = new Map<number, string>();
  readonly #outcomes = new Tally('belfry_deliveries_total', 'Deliveries by their outcome.', [
    'status',
    'type',
    'provider',
  ]);
  readonly #ended = new Tally('belfry_occurrences_total', 'Occurrences that have ended, by outcome.', ['outcome']);
  readonly #attempts = new Tally('belfry_attempts_total', 'Calls of providers by what came of them.', [
    'type',
    'provider',
    'result',
  ]);
  readonly #retries = new Tally('belfry_retries_total', 'Deliveries that were put off to be tried again.', [
    'type',
    'provider',
  ]);
  readonly #firstAttempt = new Distribution(
    'belfry_time_to_first_attempt_seconds',
    'Time from when a trigger was due to the end of the first attempt.',
    'class',
    seconds,
  );
  readonly #outcomeTime = new Distribution(
    'belfry_time_to_outcome_seconds',
    'Time from when a trigger was due to the outcome of a delivery.',
    'class',
    seconds,
  );
  readonly #batches = new Distribution('belfry_batch_size', 'Rows that were handled together.', 'operation', sizes);
  readonly #told = new Tally('belfry_webhook_messages_total', 'Attempts to tell webhooks, by what came of them.', [
    'outcome',
  ]);
  readonly #pages = new Tally('belfry_expanded_pages_total', 'Pages of recipients that were decided.', ['class']);
  readonly #expanded = new Tally('belfry_expanded_deliveries_total', 'Deliveries that were decided.', ['class']);

  constructor({ inFlight, circuits, pools }: Gauges) {
    this.#gauge('belfry_in_flight', 'Deliveries that this worker is sending.', ['class'], gauge => {
      for (const [i, count] of inFlight().entries()) gauge.set({ class: priorities[i]! }, count);
    });
    this.#gauge('belfry_circuit_breakers', 'Providers of channels by state.', ['type', 'provider', 'state'], gauge => {
      gauge.reset();
      for (const { type, provider, state } of circuits(Date.now())) gauge.inc({ type, provider, state });
    });
    const connections = 'Connections of the engine, and callers waiting for one.';
    this.#gauge('belfry_engine_database_connections', connections, ['pool', 'state'], gauge => {
      for (const [pool, { totalCount, idleCount, waitingCount }] of Object.entries(pools)) {
        gauge.set({ pool, state: 'busy' }, totalCount - idleCount);
        gauge.set({ pool, state: 'idle' }, idleCount);
        gauge.set({ pool, state: 'waiting' }, waitingCount);
      }
    });
    const delay = this.#loopDelay;
    let before = performance.eventLoopUtilization();
    const late = "How late the engine's event loop was since this was last read, while it had work.";
    this.#gauge('belfry_engine_loop_delay_seconds', late, ['quantile'], gauge => {
      // It reports the whole interval of its timer.
      const over = (ns: number) => Math.max(0, ns / 1e9 - loopResolutionMs / 1e3);
      gauge.set({ quantile: '0.5' }, over(delay.percentile(50)));
      gauge.set({ quantile: '0.99' }, over(delay.percentile(99)));
      gauge.set({ quantile: '1' }, over(delay.max));
      delay.reset();
    });
    this.#gauge('belfry_engine_loop_utilization', 'Share of time the engine was busy since last read.', [], gauge => {
      const now = performance.eventLoopUtilization();
      gauge.set(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    });
  }

  async read(): Promise<MetricValues> {
    const counted = [
      this.#outcomes,
      this.#ended,
      this.#attempts,
      this.#retries,
      this.#firstAttempt,
      this.#outcomeTime,
      this.#batches,
      this.#told,
      this.#pages,
      this.#expanded,
    ];
    return [...(await this.#registry.getMetricsAsJSON()), ...counted.map(one => one.toMetric())];
  }

  /** Now and then. What measures the event loop takes a seventh of what an idle service does: without work, it rests. */
  tick(): void {
    if (this.#hasWorked) this.#loopDelay.enable();
    else this.#loopDelay.disable();
    this.#hasWorked = false;
  }

  /** A webhook took a message, will be tried again, or was given up. */
  told(outcome: 'sent' | 'retried' | 'failed'): void {
    this.#hasWorked = true;
    this.#told.add(1, outcome);
  }

  /** A message is about to go by it. */
  seen({ id, type }: PlannedChannel): void {
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
    const elapsed = occurrence ? Math.max(0, Date.now() - occurrence.due_at.getTime()) / 1_000 : undefined;
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

  /** Occurrences that have come to their end. */
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
