/**
 * Admission: authenticates the caller, checks the permission and resolves the path, in this order and before any of the
 * body is read. Only that an organization has moved to another cell is answered first: its keys may no longer be here. A caller without the permission learns nothing about what exists; a resource outside the caller's scope is
 * not found. Programs authenticate with an API key, people with a session cookie, recipients with a token.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import { allows, type Permission } from '../../core/identity/permissions.ts';
import { requestCost } from '../../core/limits.ts';
import { recipientTokenPrefix } from '../../core/recipient-links.ts';
import { fold } from '../../core/text.ts';
import { currentTime } from '../../lib/clock.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import { authenticateRecipient } from '../../services/audience/recipient-links.ts';
import { requireHere } from '../../services/configuration/moves.ts';
import type { Deps } from '../../services/deps.ts';
import { authenticateKey, type Key } from '../../services/identity/keys.ts';
import {
  findSession,
  instancePermissionsOf,
  isTwoFactor,
  permissionsIn,
  roleIn,
  type Session,
} from '../../services/identity/sessions.ts';
import {
  isStorable,
  notFound,
  type Params,
  type Resources,
  resolve,
  resolveWithoutOrganization,
  type Scope,
} from '../resolve.ts';
import { readCookie, refuseCrossSite, requireCsrfToken } from './cookie.ts';
import type { Caller, Route } from './route.ts';

export interface Admission {
  /** Undefined on public routes. */
  caller?: Caller;
  /** Set for a signed-in account. */
  session?: Session;
  resources: Resources;
  /** The rate limit that the request is charged to, if its key has one. */
  bucket?: TokenBucket;
}

export function createAdmission(deps: Deps, baseUrl: string | undefined) {
  const limit = createRateLimit();

  return async (route: Route, request: FastifyRequest, reply: FastifyReply): Promise<Admission> => {
    const { permission } = route;
    const params = request.params as Params;
    if (params.org !== undefined) {
      const checking = requireHere(deps, { slug: params.org });
      if (checking) await checking;
    }
    if (permission === 'public') {
      refuseCrossSite(request, baseUrl);
      return { resources: resolveWithoutOrganization(deps, params) };
    }
    const now = currentTime();
    const token = route.takesTokenInQuery ? tokenInQuery(request) : undefined;
    if (permission === 'account' || (token === undefined && usesCookie(request))) {
      const session = await requireSession(deps, request, now);
      refuseCrossSite(request, baseUrl);
      requireCsrfToken(deps, request, session);
      return admitAccount(deps, session, permission, params);
    }
    const text = token ?? presentedKey(request);
    if (text.startsWith(recipientTokenPrefix)) return admitRecipient(deps, text, permission, params, now);
    const authenticated = authenticateKey(deps, text, request.ip, now);
    const key = authenticated instanceof Promise ? await authenticated : authenticated;
    const bucket = limit(key, request, reply, now);
    if (!allows(key.permissions, permission)) {
      throw new AppError('key.permission', `the API key ${key.name} lacks the permission ${permission}`);
    }
    const { id, name, permissions } = key;
    const resources =
      params.org === undefined ? resolveWithoutOrganization(deps, params) : await resolve(deps, key, params);
    return { caller: { kind: 'key', id, name, permissions, scope: key, limits: key }, resources, bucket };
  };
}

/** An Authorization header takes precedence over a cookie. */
function usesCookie(request: FastifyRequest): boolean {
  return !request.headers.authorization && readCookie(request) !== undefined;
}

async function requireSession(deps: Deps, request: FastifyRequest, now: number): Promise<Session> {
  const token = readCookie(request);
  const session = token && (await findSession(deps, token, now));
  if (!session)
    throw new AppError('session.missing', 'you are not signed in, or your session has expired: sign in again');
  return session;
}

/** Checks membership before permissions: a role belongs to an organization. */
async function admitAccount(
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
    return { session, caller, resources: resolveWithoutOrganization(deps, params) };
  }
  const path = isStorable(org) ? await deps.tenantCache.resolvePath({ org }) : undefined;
  const role = path && roleIn(session, path.organization.id);
  if (!role) throw notFound('organization.not_found', 'organization', org);
  if (path.organization.two_factor_required && !isTwoFactor(session)) {
    throw new AppError(
      'session.two_factor_required',
      `${org} requires two-factor authentication: set up an authenticator app or a passkey for your account`,
    );
  }
  const scope = { organization_id: path.organization.id, project_id: null, application_id: null };
  const caller = callerWith(permissionsIn(session, role), scope);
  return { session, caller, resources: await resolve(deps, scope, params) };
}

/** Permissions of a recipient token, which an application issues for a recipient's browser. */
const recipientPermissions: readonly Permission[] = [
  'inbox:read',
  'inbox:write',
  'preference:read',
  'preference:write',
];

/** Gives a recipient access to their own preferences and inbox; all other users are not found. */
async function admitRecipient(
  deps: Deps,
  token: string,
  permission: Permission | 'account',
  params: Params,
  now: number,
): Promise<Admission> {
  const recipient = await authenticateRecipient(deps, token, now);
  if (permission === 'account' || !recipientPermissions.includes(permission) || params.username === undefined) {
    throw new AppError('key.permission', `a recipient token lacks the permission ${permission}`);
  }
  const scope = { organization_id: recipient.organization_id, project_id: null, application_id: null };
  if (fold(params.username) !== recipient.username) throw notFound('user.not_found', 'user', params.username);
  const { id, username: name, expiresAt } = recipient;
  const caller: Caller = {
    kind: 'recipient',
    id: String(id),
    name,
    permissions: recipientPermissions,
    scope,
    expiresAt,
  };
  return { caller, resources: await resolve(deps, scope, params) };
}

/** Accepts only recipient tokens: URLs end up in logs, where an API key must not appear. A header takes precedence. */
function tokenInQuery(request: FastifyRequest): string | undefined {
  const { token } = request.query as { token?: unknown };
  if (token === undefined || request.headers.authorization) return undefined;
  if (typeof token === 'string' && token.startsWith(recipientTokenPrefix)) return token;
  throw new AppError('token.invalid', 'token: must be a recipient token; send an API key in the Authorization header');
}

function presentedKey(request: FastifyRequest): string {
  const header = request.headers.authorization;
  if (!header) {
    throw new AppError('key.missing', 'send your API key in the header Authorization: Key <API_KEY>');
  }
  const [, text] = /^(?:key|bearer) +(\S+) *$/i.exec(header) ?? [];
  if (!text) throw new AppError('key.invalid', 'the Authorization header must have the form: Key <API_KEY>');
  return text;
}

/** Limits requests per key and process, if the key has a rate limit. */
function createRateLimit() {
  const buckets = new Map<string, TokenBucket>();
  return (key: Key, request: FastifyRequest, reply: FastifyReply, now: number): TokenBucket | undefined => {
    const rate = key.requests_per_second;
    if (rate === null) return undefined;
    let bucket = buckets.get(key.id);
    if (bucket?.perSecond !== rate) {
      bucket = new TokenBucket(rate, now);
      buckets.set(key.id, bucket);
    }
    const { taken, left, resetSeconds } = bucket.take(now, declaredCost(request));
    reply.headers({ 'ratelimit-limit': rate, 'ratelimit-remaining': left, 'ratelimit-reset': resetSeconds });
    if (taken) return bucket;
    throw new AppError(
      'request.rate_limited',
      `the API key ${key.name} is limited to ${rate} requests per second; a body counts as one request per started 16 KiB`,
      { retryAfterSeconds: resetSeconds },
    );
  };
}

/** Charges a body without a Content-Length after it was read. */
export function chargeBody(request: FastifyRequest): void {
  const unpaid = requestCost(request.bodyBytes) - declaredCost(request);
  if (unpaid > 0) request.admission?.bucket?.charge(unpaid);
}

/** A body above the limit is rejected without being read, so it costs no more than an empty one. */
function declaredCost({ headers, routeOptions }: FastifyRequest): number {
  const bytes = Number(headers['content-length'] ?? 0);
  return bytes > routeOptions.bodyLimit ? 1 : requestCost(bytes);
}
