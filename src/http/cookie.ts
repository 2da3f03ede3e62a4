/** The cookie of a session, and whether a request that carries it was meant by the person. */
import type {} from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';
import type { Deps } from '../services/deps.ts';
import type { Site } from '../services/passkeys.ts';
import { isCsrfToken, type Opened, type Session, sessionLife, type Visitor } from '../services/sessions.ts';
import type { Call } from './route.ts';

const name = 'belfry_session';
/** One for each account that has signed in here, so that several people can share a browser. */
const deviceName = (accountId: number) => `belfry_device_${accountId}`;
/** The longest that browsers keep a cookie. */
const deviceSeconds = 400 * 86_400;

/** Read only where it is needed: a request with a key never comes here. */
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

export function setCookie({ request, reply, link }: Exchange, { name: of = name, value, path = '/', seconds }: Cookie) {
  const secure = request.protocol === 'https' || link('/').startsWith('https:');
  const options = { path, httpOnly: true, sameSite: 'lax', secure, maxAge: seconds } as const;
  reply.header('set-cookie', request.server.serializeCookie(of, value, options));
}

export function setSession(exchange: Exchange, { token, device, session }: Opened): void {
  setCookie(exchange, { value: token, seconds: sessionLife.wholeMs / 1_000 });
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

/** Where the browser thinks it is. */
export function siteOf({ link }: Pick<Call, 'link'>): Site {
  const url = URL.parse(link('/'));
  if (!url) throw new AppError('request.malformed', 'the Host header names no host');
  return { origin: url.origin, host: url.hostname };
}

function isSafe(request: FastifyRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD';
}

/** What another website made the browser send is refused, whether or not anybody is signed in. */
export function refuseForeign(request: FastifyRequest, baseUrl: string | undefined): void {
  if (isSafe(request)) return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  const own = [request.host, ...(baseUrl ? [new URL(baseUrl).host] : [])];
  const foreign = origin !== undefined && !(URL.canParse(origin) && own.includes(new URL(origin).host));
  if (site === 'cross-site' || foreign) {
    throw new AppError(
      'session.csrf',
      'this request comes from another website; if it is the console behind a proxy, set BASE_URL',
    );
  }
}

/** A request that changes something must show that it can read what only the console is told. */
export function requireCsrfToken(deps: Deps, request: FastifyRequest, session: Session): void {
  if (isSafe(request)) return;
  const given = request.headers['x-csrf-token'];
  if (typeof given === 'string' && isCsrfToken(deps, session, given)) return;
  throw new AppError('session.csrf', 'send the csrf_token of GET /api/session/ in the header x-csrf-token');
}
