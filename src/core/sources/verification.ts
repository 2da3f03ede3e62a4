/** Checks that a request comes from a sender that has the secret of the source: by its signature, or by its credentials. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { SourceRequest } from './alert.ts';

/** Grafana's clock and ours may differ, and a request may be under way for a while. */
const signatureWindowMs = 5 * 60_000;

/** Returns why the request is refused; undefined if the sender has the secret. */
export function findForgery(request: SourceRequest, secret: string, now: number): string | undefined {
  const { headers } = request;
  const github = headers['x-hub-signature-256'];
  if (github !== undefined) {
    return isSame(github, `sha256=${sign(secret, request.bytes)}`) ? undefined : 'X-Hub-Signature-256 does not match';
  }
  const grafana = headers['x-grafana-alerting-signature'];
  if (grafana !== undefined) return findGrafanaForgery(request, grafana, secret, now);
  return findWrongCredentials(request, secret);
}

function findGrafanaForgery({ headers, bytes }: SourceRequest, signature: string, secret: string, now: number) {
  const timestamp = headers['x-grafana-alerting-timestamp'];
  const message = timestamp === undefined ? bytes : Buffer.concat([Buffer.from(`${timestamp}:`), bytes]);
  if (!isSame(signature, sign(secret, message))) return 'X-Grafana-Alerting-Signature does not match';
  if (timestamp === undefined) return undefined;
  const age = Math.abs(now - Number(timestamp) * 1_000);
  return age <= signatureWindowMs ? undefined : 'the signature is too old: it may be a replay';
}

/** The secret is `user:password`, or what follows the scheme in the Authorization header, such as a bearer token. */
function findWrongCredentials({ headers, url }: SourceRequest, secret: string): string | undefined {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+)$/.exec(headers.authorization ?? '') ?? [];
  const query = new URL(url, 'http://localhost').searchParams.get('access_token');
  const given = scheme.toLowerCase() === 'basic' ? Buffer.from(value, 'base64').toString('utf8') : value || query;
  if (!given) return 'the request has neither a signature nor credentials: give the sender the secret of the source';
  return isSame(given, secret) ? undefined : 'the credentials do not match the secret of the source';
}

function sign(secret: string, data: Buffer): string {
  return createHmac('sha256', secret).update(data).digest('hex');
}

/** Takes the same time wherever the texts differ. Hashing first also hides the length. */
function isSame(actual: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(actual), digest(expected));
}
