/**
 * The engine's work in traces. Whatever it does for an occurrence is below the span that accepted it, whichever process does it
 * and however much later, as that is all it is told:
 *
 *     accept                       the API, once stored
 *     ├── expand                   each page of recipients that is decided and stored
 *     ├── step                     the same of a run of a step
 *     └── deliver                  each attempt
 *         ├── render
 *         ├── send                 the call of the provider
 *         └── settle               until the outcome is on record
 *
 * Batches stay as they are: each sampled one of a batch has a span of its own. Where nothing is traced there is no span, and
 * nothing is asked of one.
 */
import {
  channelAttributes,
  eventAttributes,
  occurrenceAttributes,
  outcomeAttributes,
} from '../core/span-attributes.ts';
import type { Delivery, NewDelivery, Settlement } from '../db/deliveries.ts';
import type { OccurrenceFacts } from '../db/occurrences.ts';
import type { Span } from '../lib/traces.ts';
import { traceIdOf } from '../lib/traces.ts';
import type { Outcome } from '../providers/sending.ts';
import type { EventPlan, PlannedChannel } from '../services/plans.ts';
import type { Engine } from './engine.ts';

type Traced = { id: string; traceparent: string | null };

/** Of a digest: more would only be noise, and collectors cut them off. */
const mostLinks = 64;

export function startPage(engine: Engine, name: 'expand' | 'step', occurrence: Traced | undefined): Span | undefined {
  const span = occurrence && engine.traces?.resume(name, occurrence.traceparent);
  span?.set(occurrenceAttributes(occurrence!.id));
  return span;
}

export function tellEvent(span: Span | undefined, plan: EventPlan): void {
  span?.set(eventAttributes(plan, plan.slug));
}

/** Once they are stored: what a failure has undone was never done. */
export function endPages(pages: { span?: Span | undefined; deliveries: NewDelivery[]; reason: string | null }[]): void {
  for (const { span, deliveries, reason } of pages) {
    if (!span) continue;
    const suppressed = deliveries.filter(one => one.status === 'suppressed').length;
    const counts = { 'belfry.deliveries': deliveries.length, 'belfry.suppressed': suppressed };
    // As with the occurrence: it counts where nothing came of it, or not everything.
    const told = deliveries.length === 0 || reason?.startsWith('limit.') ? reason : null;
    span.set({ ...counts, 'belfry.reason': told ?? undefined });
    span.end();
  }
}

export function startDelivery(
  engine: Engine,
  delivery: Delivery,
  occurrence: OccurrenceFacts | undefined,
): Span | undefined {
  const span = engine.traces?.resume('deliver', occurrence?.traceparent);
  span?.set({
    ...occurrenceAttributes(delivery.occurrence_id),
    'belfry.delivery': delivery.id,
    'belfry.attempt': delivery.attempts,
    'belfry.step': delivery.step === 0 ? undefined : delivery.step,
    'belfry.digest': delivery.digest_id ?? undefined,
  });
  return span;
}

export function tellChannel(span: Span | undefined, channel: PlannedChannel): void {
  span?.set(channelAttributes(channel));
}

/** A message that stands for several occurrences is in the trace of one, and points to the others. */
export function linkGathered(span: Span | undefined, own: string | null, gathered: readonly string[]): void {
  if (!span) return;
  const others = new Map(gathered.map(one => [traceIdOf(one), one]));
  if (own) others.delete(traceIdOf(own));
  span.link([...others.values()].slice(0, mostLinks));
}

export function endCall(span: Span | undefined, provider: string, outcome: Outcome): void {
  if (!span) return;
  span.set({ 'belfry.provider': provider });
  if (outcome.ok) span.end();
  else {
    span.set({ 'belfry.retry': outcome.retry });
    span.end(outcome.unknown ? 'unknown' : 'provider.failed');
  }
}

/** An attempt that came to nothing failed, also where another follows. */
export function endDelivery(span: Span | undefined, { status, reason, tried, provider }: Settlement): void {
  if (!span) return;
  span.set({ ...outcomeAttributes(status, reason), 'belfry.provider': provider ?? undefined });
  const hasFailed = status === 'failed' || status === 'unknown' || (status === 'retrying' && tried);
  span.end(hasFailed ? (reason ?? status) : undefined);
}

/** For a line of the log. */
export function traceIn(occurrence: { traceparent: string | null } | undefined): { trace_id?: string } {
  return occurrence?.traceparent ? { trace_id: traceIdOf(occurrence.traceparent) } : {};
}
