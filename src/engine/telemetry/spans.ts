/**
 * The engine's spans. All of them are children of the span that accepted the occurrence, whichever process does the work and
 * however much later, because the occurrence's trace parent is all that is stored:
 *
 *     accept                       the API, once stored
 *     ├── expand                   each page of recipients that is decided and stored
 *     ├── step                     the same for a run of a step
 *     └── deliver                  each attempt
 *         ├── render
 *         ├── send                 the call of the provider
 *         └── settle               until the outcome is stored
 *
 * Batches have no spans, only the sampled items in them. Without tracing, spans are undefined and cost nothing.
 */
import {
  channelAttributes,
  eventAttributes,
  occurrenceAttributes,
  outcomeAttributes,
} from '../../core/history/span-attributes.ts';
import type { OccurrenceFacts } from '../../db/history/occurrences.ts';
import type { Delivery, NewDelivery, Settlement } from '../../db/ledger/deliver/deliveries.ts';
import { type Span, type Traces, traceIdOf } from '../../lib/telemetry/traces.ts';
import type { EventPlan } from '../../pipeline/event-plan.ts';
import type { PlannedChannel } from '../../pipeline/plans.ts';
import type { Outcome } from '../../providers/sending.ts';

/** Undefined when tracing is off. */
type Traced = { traces: Traces | undefined };
type TracedOccurrence = { id: string; traceparent: string | null };

/** Links of a digest's span. Collectors drop more than this. */
const maxLinks = 64;

export function startPage(
  { traces }: Traced,
  name: 'expand' | 'step',
  occurrence: TracedOccurrence | undefined,
): Span | undefined {
  const span = occurrence && traces?.resume(name, occurrence.traceparent);
  span?.set(occurrenceAttributes(occurrence!.id));
  return span;
}

export function setEventAttributes(span: Span | undefined, plan: EventPlan): void {
  span?.set(eventAttributes(plan, plan.slug));
}

/** Called after the pages are stored, so that a rolled-back page has no span. */
export function endPages(pages: { span?: Span | undefined; deliveries: NewDelivery[]; reason: string | null }[]): void {
  for (const { span, deliveries, reason } of pages) {
    if (!span) continue;
    const suppressed = deliveries.filter(one => one.status === 'suppressed').length;
    const counts = { 'belfry.deliveries': deliveries.length, 'belfry.suppressed': suppressed };
    // The same rule as for the occurrence: a reason is kept only if nothing, or not everything, was sent.
    const shown = deliveries.length === 0 || reason?.startsWith('limit.') ? reason : null;
    span.set({ ...counts, 'belfry.reason': shown ?? undefined });
    span.end();
  }
}

export function startDelivery(
  { traces }: Traced,
  delivery: Delivery,
  occurrence: OccurrenceFacts | undefined,
): Span | undefined {
  const span = traces?.resume('deliver', occurrence?.traceparent);
  span?.set({
    ...occurrenceAttributes(delivery.occurrence_id),
    'belfry.delivery': delivery.id,
    'belfry.attempt': delivery.attempts,
    'belfry.step': delivery.step === 0 ? undefined : delivery.step,
    'belfry.digest': delivery.digest_id ?? undefined,
  });
  return span;
}

export function setChannelAttributes(span: Span | undefined, channel: PlannedChannel): void {
  span?.set(channelAttributes(channel));
}

/** Links a digest's span to the traces of its other items: it is part of only one trace. */
export function linkDigestItems(span: Span | undefined, own: string | null, traceparents: readonly string[]): void {
  if (!span) return;
  const others = new Map(traceparents.map(one => [traceIdOf(one), one]));
  if (own) others.delete(traceIdOf(own));
  span.link([...others.values()].slice(0, maxLinks));
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

/** A failed attempt ends its span with an error, even if a retry follows. */
export function endDelivery(span: Span | undefined, { status, reason, tried, provider }: Settlement): void {
  if (!span) return;
  span.set({ ...outcomeAttributes(status, reason), 'belfry.provider': provider ?? undefined });
  const hasFailed = status === 'failed' || status === 'unknown' || (status === 'retrying' && tried);
  span.end(hasFailed ? (reason ?? status) : undefined);
}

/** Returns the fields for log lines. */
export function traceFields(occurrence: { traceparent: string | null } | undefined): { trace_id?: string } {
  return occurrence?.traceparent ? { trace_id: traceIdOf(occurrence.traceparent) } : {};
}
