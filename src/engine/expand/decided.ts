/**
 * Triggers that are decided before they are stored, while the API of the same process waits: one commit for a trigger and its
 * deliveries instead of two. Only what is quickly decided and certain is stored here. The API stores every other trigger alone, and the
 * engine then finds it in the queue:
 *
 * - one with more recipients than are read here, or with one who is not a user yet: a trigger that is refused creates none
 * - one that reaches a limit, is paused, or could not be decided
 * - one whose messages are throttled or collected, which takes locks
 */
import { inStoredOrder, type JsonObject } from '../../core/json.ts';
import type { CaughtUpReads } from '../../db/connection/listen.ts';
import type { Statements } from '../../db/connection/pool.ts';
import type { NewOccurrence } from '../../db/ledger/accept/accept.ts';
import { storeDecidedAcrossTenants } from '../../db/ledger/accept/decided.ts';
import type { ClaimedOccurrence } from '../../db/ledger/expand/expand.ts';
import { RecipientReader, type UserQuota } from '../../pipeline/recipients.ts';
import { decideOccurrence } from './expand.ts';
import {
  type DecidedPage,
  decideMany,
  deferOverflow,
  type ExpandTools,
  type ExpansionResult,
  report,
  type Turn,
} from './frame.ts';

/** The API waits, so a trigger has few recipients, and so do all that are decided together. */
const maxRecipients = { each: 100, together: 500 };

const noNewUsers: UserQuota = { reserveUsers: async () => 0 };

export interface AcceptedTriggers extends ExpansionResult {
  /** The ids of the occurrences that were stored. */
  accepted: ReadonlySet<string>;
}

/**
 * Recipients are read on the connection that listens: triggers are faster than announcements, and a pause that was confirmed before the
 * trigger has to be known.
 */
export async function acceptDecided(
  tools: ExpandTools,
  { owner, capacity }: Pick<Turn, 'owner' | 'capacity'>,
  triggers: readonly NewOccurrence[],
  reads: CaughtUpReads,
): Promise<AcceptedTriggers> {
  const readAt = tools.stops.generation;
  const decided = await decideTriggers(tools, triggers, reads);
  const isCaughtUp = await reads.catchUp();
  const certain = decided.filter(
    ({ page }) => isCaughtUp && isCertain(page) && tools.stops.isCurrent(page.organization_id, readAt),
  );
  const pages = deferOverflow(
    certain.map(({ page }) => page),
    capacity,
  );
  const { stored, ended, accepted } =
    certain.length > 0
      ? await storeDecidedAcrossTenants(
          tools.claims,
          owner,
          certain.map(({ trigger }, i) => ({ trigger, page: pages[i]! })),
        )
      : { stored: [], ended: [], accepted: new Set<string>() };
  const storedPages = pages.filter(({ id }) => accepted.has(id));
  return { ...report(tools, { pages: storedPages, stored, ended }, { isDrained: true, readAt }), accepted };
}

async function decideTriggers(tools: ExpandTools, triggers: readonly NewOccurrence[], reads: Statements) {
  const events = await Promise.all(triggers.map(one => tools.plans.findEvent(one.organization_id, one.event_id)));
  const simple = triggers.filter((_, i) => !events[i]?.notifications.some(one => one.throttle || one.digest));
  const { db, plans } = tools;
  const recipients = new RecipientReader({ db, pool: reads, plans }, { usage: noNewUsers });
  const pages = await decideMany(simple, maxRecipients.together, one =>
    decideOccurrence(tools, recipients, toClaimed(one), maxRecipients.each),
  );
  return pages.map((page, i) => ({ trigger: simple[i]!, page }));
}

function isCertain({ cursor, retryAt, reason }: DecidedPage): boolean {
  return !cursor && !retryAt && !reason?.startsWith('limit.');
}

/** Returns the occurrence as it would be read from the ledger. */
function toClaimed(trigger: NewOccurrence): ClaimedOccurrence {
  return {
    organization_id: trigger.organization_id,
    id: trigger.id,
    project_id: trigger.project_id,
    application_id: trigger.application_id,
    event_id: trigger.event_id,
    priority: trigger.priority,
    context: inStoredOrder(trigger.context) as JsonObject,
    options: inStoredOrder(trigger.options) as JsonObject,
    cursor: null,
    deliveries: 0,
    reason: null,
    correlation_id: trigger.correlation_id ?? null,
    key_id: trigger.key_id ?? null,
    due_at: trigger.created_at,
    round_began_at: null,
    expires_at: trigger.expires_at ?? null,
    created_at: trigger.created_at,
    cancelled_at: null,
    acknowledged_at: null,
    acknowledged_until: null,
    resolved_at: null,
    traceparent: trigger.traceparent ?? null,
  };
}
