/** What a template can say: the people and things around a delivery, the context's own keys, and extra context. */
import type { JsonObject } from '../core/json.ts';
import type { Delivery } from '../db/deliveries.ts';
import type { OccurrenceFacts } from '../db/occurrences.ts';
import type { Person } from '../db/recipients.ts';
import type { EventPlan, PlannedChannel } from './plans.ts';
import { describeUser } from './recipients.ts';

export interface Around {
  delivery: Pick<Delivery, 'address'>;
  occurrence: Pick<OccurrenceFacts, 'id' | 'context' | 'correlation_id' | 'created_at'>;
  person: Person;
  channel: PlannedChannel;
  plan: EventPlan;
  extraContext: JsonObject;
}

/** Names of Belfry's own win over the context's of the same name, which stay reachable as `context.…`. */
export function scopeOf({
  delivery,
  occurrence,
  person,
  channel,
  plan,
  extraContext,
}: Around): Record<string, unknown> {
  const named = ({ slug, name }: { slug: string; name: string }) => ({ slug, name });
  return {
    ...extraContext,
    ...occurrence.context,
    context: occurrence.context,
    user: describeUser(person),
    event: named(plan),
    application: named(plan.application),
    project: named(plan.project),
    organization: named(plan.organization),
    occurrence: {
      identifier: occurrence.id,
      created_at: occurrence.created_at.toISOString(),
      correlation_id: occurrence.correlation_id,
    },
    channel: { slug: channel.slug, type: channel.type },
    address: delivery.address,
    now: occurrence.created_at.toISOString(),
  };
}
