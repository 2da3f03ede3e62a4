/** What the requests of several presets share. */

/** The secret is `user:password`, or a token. */
export function authorizationOf(secret: string | undefined): Record<string, string> {
  if (!secret) return {};
  const isPassword = /^[^:\s]+:/.test(secret);
  return { authorization: isPassword ? `Basic ${Buffer.from(secret).toString('base64')}` : `Bearer ${secret}` };
}

/** Appends a path to the URL under which the service is reached. */
export function joinPath(url: string, path: string): string {
  return url.replace(/\/+$/, '') + path;
}
