/** Session cookies, and the protection of requests that use them against cross-site request forgery. */
import type {} from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../../services/deps.ts';
import {
  findSession,
  isCsrfToken,
  type OpenedSession,
  type Session,
  sessionLifetime,
  type Visitor,
} from '../../services/identity/sessions.ts';
import type { Site } from '../../services/identity/sign-in/passkeys.ts';
import type { Call } from './route.ts';

const name = 'belfry_session';
/** One cookie per account that has signed in, so that several people can share a browser. */
const deviceName = (accountId: number) => `belfry_device_${accountId}`;
/** The maximum lifetime of a cookie in browsers. */
const deviceSeconds = 400 * 86_400;

/** Parses cookies on demand: requests with an API key skip it. */
export function readCookie(request: FastifyRequest, cookie = name): string | undefined {
  const { cookie: header } = request.headers;
  return header === undefined ? undefined : request.server.parseCookie(header)[cookie] || undefined;
}

type Exchange = Pick<Call, 'request' | 'reply' | 'link'>;

interface Cookie {
  name?: string;
  value: string;
  path?: string;
  /** 0 removes it. */
  seconds: number;
}

export function setCookie(
  { request, reply, link }: Exchange,
  { name: cookieName = name, value, path = '/', seconds }: Cookie,
) {
  const secure = request.protocol === 'https' || link('/').startsWith('https:');
  const options = { path, httpOnly: true, sameSite: 'lax', secure, maxAge: seconds } as const;
  reply.header('set-cookie', request.server.serializeCookie(cookieName, value, options));
}

export function setSession(exchange: Exchange, { token, device, session }: OpenedSession): void {
  setCookie(exchange, { value: token, seconds: sessionLifetime.maxMs / 1_000 });
  setCookie(exchange, { name: deviceName(session.account.id), value: device, path: '/api/', seconds: deviceSeconds });
}

export function clearSession(exchange: Exchange): void {
  setCookie(exchange, { value: '', seconds: 0 });
}

export function visitorOf(request: FastifyRequest): Visitor {
  return {
    origin: request.ip,
    userAgent: request.headers['user-agent'],
    requestId: request.id,
    deviceCookie: accountId => readCookie(request, deviceName(accountId)),
  };
}

/** The origin and host that the browser sees. */
export function siteOf({ link }: Pick<Call, 'link'>): Site {
  const url = URL.parse(link('/'));
  if (!url) throw new AppError('request.malformed', 'the Host header is invalid');
  return { origin: url.origin, host: url.hostname };
}

function isSafe(request: FastifyRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD';
}

/** Rejects state-changing requests from other websites, with or without a session. */
export function refuseCrossSite(request: FastifyRequest, baseUrl: string | undefined): void {
  if (isSafe(request)) return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  const own = [request.host, ...(baseUrl ? [new URL(baseUrl).host] : [])];
  const isForeign = origin !== undefined && !(URL.canParse(origin) && own.includes(new URL(origin).host));
  if (site === 'cross-site' || isForeign) {
    throw new AppError(
      'session.csrf',
      'this request comes from another website; if the console runs behind a proxy, set BASE_URL',
    );
  }
}

/** A state-changing request must carry the CSRF token, which only the console can read. */
export function requireCsrfToken(deps: Deps, request: FastifyRequest, session: Session): void {
  if (isSafe(request)) return;
  const token = request.headers['x-csrf-token'];
  if (typeof token === 'string' && isCsrfToken(deps, session, token)) return;
  throw new AppError('session.csrf', 'send the csrf_token from GET /api/session/ in the header x-csrf-token');
}

/** Returns the session of a request to a public route, if there is one; then a change needs its CSRF token. */
export async function currentSession(deps: Deps, request: FastifyRequest): Promise<Session | undefined> {
  const cookie = readCookie(request);
  const session = cookie ? await findSession(deps, cookie, currentTime()) : undefined;
  if (session) requireCsrfToken(deps, request, session);
  return session;
}
