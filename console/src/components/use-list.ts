/** A list of the API, page by page as somebody reads on. */
import { keepPreviousData, type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { takePage } from '../api.ts';

const usualPage = 50;
/** Reading again what was read already costs a request a page: past this many, a list stands still. */
const livePages = 2;
export const liveMs = 3_000;

interface ListOptions<Row> {
  key: QueryKey;
  /** `page` goes into the query of the request as it is. */
  fetch: (
    page: { limit: number; cursor?: string },
    signal: AbortSignal,
  ) => Promise<{ data?: Row[]; response: Response }>;
  /** Looks again every few seconds while the page is visible. */
  live?: boolean;
  pageSize?: number;
  enabled?: boolean;
}

export function useList<Row>({ key, fetch, live = false, pageSize = usualPage, enabled = true }: ListOptions<Row>) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      takePage(fetch({ limit: pageSize, ...(pageParam && { cursor: pageParam }) }, signal)),
    initialPageParam: '',
    getNextPageParam: page => page.next,
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval: ({ state }) => live && (state.data?.pages.length ?? 0) <= livePages && liveMs,
  });
  return {
    rows: query.data?.pages.flatMap(page => page.rows) ?? [],
    loading: query.isPending && enabled,
    error: query.data ? null : query.error,
    retry: () => void query.refetch(),
    hasMore: query.hasNextPage,
    loadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  };
}

export type List<Row> = ReturnType<typeof useList<Row>>;
