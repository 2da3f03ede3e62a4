/**
 * Who asks, may they, and is there what they ask for: in this order, before a byte of the body is read. A caller
 * without the permission learns nothing about what exists, and what lies outside a caller's reach does not exist for it.
 * A caller is a program with a key, or a person with the cookie of a session; both pass the same check.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';
import { allows, type Permission } from '../core/permissions.ts';
import { recipientTokenPrefix } from '../core/recipient-links.ts';
import { fold } from '../core/text.ts';
import { TokenBucket } from '../lib/token-bucket.ts';
import type { Deps } from '../services/deps.ts';
import { authenticate, type Key } from '../services/keys.ts';
import { authenticateRecipient } from '../services/recipient-links.ts';
import {
  findSession,
  instancePermissionsOf,
  isTwoFactor,
  permissionsIn,
  roleIn,
  type Session,
} from '../services/sessions.ts';
import { readCookie, refuseForeign, requireCsrfToken } from './cookie.ts';
import { isStorable, notFound, type Params, type Resources, resolve, resolveOutside, type Scope } from './resolve.ts';
import type { Caller, Route } from './route.ts';

export interface Admission {
  /** Undefined where anybody may call. */
  caller?: Caller;
  /** Of a person who is signed in. */
  session?: Session;
  resources: Resources;
}

export function createAdmission(deps: Deps, baseUrl: string | undefined) {
  const limit = createRateLimit();

  return async (route: Route, request: FastifyRequest, reply: FastifyReply): Promise<Admission> => {
    const { permission } = route;
    if (permission === 'public') {
      refuseForeign(request, baseUrl);
      return { resources: resolveOutside(deps, request.params as Params) };
    }
    const now = Date.now();
    const params = request.params as Params;
    const token = route.takesTokenInQuery ? tokenInQuery(request) : undefined;
    if (permission === 'account' || (token === undefined && isPerson(request))) {
      const session = await requireSession(deps, request, now);
      refuseForeign(request, baseUrl);
      requireCsrfToken(deps, request, session);
      return admitPerson(deps, session, permission, params);
    }
    const text = token ?? presentedKey(request);
    if (text.startsWith(recipientTokenPrefix)) return admitRecipient(deps, text, permission, params, now);
    const authenticated = authenticate(deps, text, request.ip, now);
    const key = authenticated instanceof Promise ? await authenticated : authenticated;
    limit(key, reply, now);
    if (!allows(key.permissions, permission)) {
      throw new AppError('key.permission', `the API key ${key.name} lacks the permission ${permission}`);
    }
    const { id, name, permissions } = key;
    const resources = params.org === undefined ? resolveOutside(deps, params) : await resolve(deps, key, params);
    return { caller: { kind: 'key', id, name, permissions, scope: key }, resources };
  };
}

/** A key goes before a cookie: a program that has both is still a program. */
function isPerson(request: FastifyRequest): boolean {
  return !request.headers.authorization && readCookie(request) !== undefined;
}

async function requireSession(deps: Deps, request: FastifyRequest, now: number): Promise<Session> {
  const token = readCookie(request);
  const session = token && (await findSession(deps, token, now));
  if (!session) throw new AppError('session.missing', 'nobody is signed in here, or no longer: sign in again');
  return session;
}

/** A role is one of an organization: whether the person is a member of it comes before what members may do. */
async function admitPerson(
  deps: Deps,
  session: Session,
  permission: Permission | 'account',
  params: Params,
): Promise<Admission> {
  const { account } = session;
  const callerWith = (permissions: readonly string[], scope: Scope | null): Caller => {
    if (permission !== 'account' && !allows(permissions, permission)) {
      throw new AppError('role.permission', `your role lacks the permission ${permission}`);
    }
    return { kind: 'account', id: String(account.id), name: account.email, permissions, scope };
  };
  const { org } = params;
  if (org === undefined) {
    const caller = callerWith(instancePermissionsOf(session), null);
    return { session, caller, resources: resolveOutside(deps, params) };
  }
  const place = isStorable(org) ? await deps.tenantCache.findPlace({ org }) : undefined;
  const role = place && roleIn(session, place.organization.id);
  if (!role) throw notFound('organization.not_found', 'organization', org);
  if (place.organization.two_factor_required && !isTwoFactor(session)) {
    throw new AppError(
      'session.two_factor_required',
      `${org} requires two-factor authentication: set up an authenticator app or a passkey for your account`,
    );
  }
  const scope = { organization_id: place.organization.id, project_id: null, application_id: null };
  const caller = callerWith(permissionsIn(session, role), scope);
  return { session, caller, resources: await resolve(deps, scope, params) };
}

/** What a recipient's browser may do with the token that the application gave it. */
const ofRecipients: readonly Permission[] = ['inbox:read', 'inbox:write', 'preference:read', 'preference:write'];

/** Their own preferences and inbox; everybody else does not exist for it. */
async function admitRecipient(
  deps: Deps,
  token: string,
  permission: Permission | 'account',
  params: Params,
  now: number,
): Promise<Admission> {
  const person = await authenticateRecipient(deps, token, now);
  if (permission === 'account' || !ofRecipients.includes(permission) || params.username === undefined) {
    throw new AppError('key.permission', `a recipient's token lacks the permission ${permission}`);
  }
  const scope = { organization_id: person.organization_id, project_id: null, application_id: null };
  if (fold(params.username) !== person.username) throw notFound('user.not_found', 'user', params.username);
  const { id, username: name, expiresAt } = person;
  const caller: Caller = { kind: 'recipient', id: String(id), name, permissions: ofRecipients, scope, expiresAt };
  return { caller, resources: await resolve(deps, scope, params) };
}

/** A header goes before it. An API key does not belong into an address, which is logged on the way. */
function tokenInQuery(request: FastifyRequest): string | undefined {
  const { token } = request.query as { token?: unknown };
  if (token === undefined || request.headers.authorization) return undefined;
  if (typeof token === 'string' && token.startsWith(recipientTokenPrefix)) return token;
  throw new AppError(
    'token.invalid',
    "token: must be a recipient's token; send an API key in the Authorization header",
  );
}

function presentedKey(request: FastifyRequest): string {
  const header = request.headers.authorization;
  if (!header) {
    throw new AppError('key.missing', 'send your API key in the header Authorization: Key <API_KEY>');
  }
  const [, text] = /^(?:key|bearer) +(\S+) *$/i.exec(header) ?? [];
  if (!text) throw new AppError('key.invalid', 'the Authorization header must read: Key <API_KEY>');
  return text;
}

/** Per key and process; off unless the key has a rate. */
function createRateLimit() {
  const buckets = new Map<string, TokenBucket>();
  return (key: Key, reply: FastifyReply, now: number): void => {
    const rate = key.requests_per_second;
    if (rate === null) return;
    let bucket = buckets.get(key.id);
    if (bucket?.perSecond !== rate) {
      bucket = new TokenBucket(rate, now);
      buckets.set(key.id, bucket);
    }
    const { taken, left, resetSeconds } = bucket.take(now);
    reply.headers({ 'ratelimit-limit': rate, 'ratelimit-remaining': left, 'ratelimit-reset': resetSeconds });
    if (taken) return;
    throw new AppError('request.rate_limited', `the API key ${key.name} may send ${rate} requests a second`, {
      retryAfterSeconds: resetSeconds,
    });
  };
}
