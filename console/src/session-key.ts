import { read } from './queries.ts';

/** Key of the session in the cache of queries. */
export const sessionKey = read('/api/session/', {}).queryKey;
