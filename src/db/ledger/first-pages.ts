/**
 * Marks the first message of each urgent occurrence for the service level, in the statement that stores its outcome: a retry, a restart
 * or another worker cannot do it again. The trigger `count_first_page` counts what is marked, so other occurrences cost nothing.
 */
import { priorities } from '../../core/trigger.ts';

const isUrgent = `o.priority = ${priorities.indexOf('urgent')}`;

/**
 * SQL text: assigns the column of an occurrence `o` when a provider accepted its first message, or when it ends without one although
 * there should have been one. `isEnding`: a condition on `o` before the update. `added`: whether totals `t` are added to it.
 */
export function firstPageText({ isEnding, added = true }: { isEnding: string; added?: boolean }): string {
  const sum = (name: string) => (added ? `o.${name} + t.${name}` : `o.${name}`);
  // Without totals, it is an occurrence that crashed its workers.
  const isMissed = added ? `${isEnding} and ${sum('failed')} + ${sum('expired')} > 0` : isEnding;
  return `first_page_at = case when ${isUrgent} and o.first_page_at is null
          and (${sum('sent')} + ${sum('unknown')} > 0 or ${isMissed}) then statement_timestamp() else o.first_page_at end`;
}
