/** Key of the session in the cache of queries. */
export const sessionKey = ['session'];
