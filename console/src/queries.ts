import { ApiError } from './api.ts';

/** How API responses are loaded, cached and retried. */
export const queryDefaults = {
  // By default, requests wait while the browser is offline. A change would then be made later, unseen.
  mutations: { networkMode: 'always' },
  queries: {
    networkMode: 'always',
    refetchOnReconnect: true,
    staleTime: 2_000,
    // Client errors are final; network and server errors are retried twice.
    retry: (count: number, error: Error) => !(error instanceof ApiError && error.status < 500) && count < 2,
  },
} as const;
