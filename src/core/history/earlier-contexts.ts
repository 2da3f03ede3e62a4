/** The contexts of an occurrence: it changes when the severity rises, and what was created before keeps the earlier one. */
import type { JsonObject } from '../json.ts';

export interface EarlierContext {
  /** When the next one began, in ISO 8601. */
  until: string;
  context: JsonObject;
}

interface WithContexts {
  context: JsonObject;
  /** Oldest first; null: there are none. */
  earlier_contexts?: readonly EarlierContext[] | null;
}

/** Returns the occurrence with the context that it had at that time. */
export function withContextAt<Occurrence extends WithContexts>(
  occurrence: Occurrence,
  time: Date | undefined,
): Occurrence {
  const earlier = time && occurrence.earlier_contexts?.find(({ until }) => time.getTime() < Date.parse(until));
  return earlier ? { ...occurrence, context: earlier.context } : occurrence;
}
