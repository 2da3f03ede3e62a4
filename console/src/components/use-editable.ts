/**
 * Loads what a page shows and edits, with its ETag. `filled` belongs into the key of the form, so that `refill` gives it the
 * values that are stored now.
 */
import { type QueryKey, useQuery } from '@tanstack/react-query';
import { useState } from 'react';

interface Editable<Value> {
  queryKey: QueryKey;
  queryFn: (context: { signal: AbortSignal }) => Promise<{ value: Value; etag: string | null }>;
  refetchInterval?: number;
}

export function useEditable<Value>(options: Editable<Value>) {
  const [filled, setFilled] = useState(0);
  const query = useQuery({ ...options, retry: false });
  const refill = () => query.refetch().then(() => setFilled(count => count + 1));
  return { query, filled, refill };
}
