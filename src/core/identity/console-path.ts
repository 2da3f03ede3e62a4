/** Long enough for a page with filters. The path must fit into a cookie. */
const maxLength = 2_000;

/** Returns the path of the console to open after a sign-in: never another host and never the API, else `/`. */
export function consolePathOf(path: string | undefined): string {
  const base = 'http://console.invalid';
  const url = path?.startsWith('/') && URL.canParse(path, base) ? new URL(path, base) : undefined;
  if (url?.origin !== base) return '/';
  // Resolving the path may have produced one that browsers take for a host, such as `//evil.test` from `/.//evil.test`.
  const resolved = url.pathname + url.search + url.hash;
  return resolved.length <= maxLength && /^\/(?!\/|api\/)/.test(resolved) ? resolved : '/';
}
