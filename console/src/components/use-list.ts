/** A paginated list of the API, loaded page by page. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import type { Pages } from '../queries.ts';

const defaultPageSize = 50;
/** Refreshing costs one request per page: a list with more pages than this is not refreshed. */
const livePages = 2;
export const liveMs = 3_000;

interface ListOptions {
  /** Refreshes every few seconds while the page is visible. */
  live?: boolean;
  pageSize?: number;
  enabled?: boolean;
}

export function useList<Row>(
  { queryKey, load }: Pages<Row>,
  { live = false, pageSize = defaultPageSize, enabled = true }: ListOptions = {},
) {
  const query = useInfiniteQuery({
    queryKey: [...queryKey, pageSize],
    queryFn: ({ pageParam, signal }) => load({ limit: pageSize, ...(pageParam && { cursor: pageParam }) }, signal),
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
