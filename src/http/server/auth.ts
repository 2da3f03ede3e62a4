/**
 * Admission: authenticates the caller, checks the permission and resolves the path, in this order and before any of the
 * body is read. Only that an organization has moved to another cell is answered first: its keys may no longer be here. A caller without the permission learns nothing about what exists; a resource outside the caller's scope is
 * not found. Programs authenticate with an API key, people with a session cookie, recipients with a token.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requestCost } from '../../core/configuration/limits.ts';
import { AppError } from '../../core/errors.ts';
import { Grant, type Permission } from '../../core/identity/permissions.ts';
import { recipientTokenPrefix } from '../../core/message/recipient-links.ts';
import { fold } from '../../core/text/text.ts';
import { TokenBucket } from '../../lib/load/token-bucket.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { authenticateRecipient } from '../../services/audience/recipient-links.ts';
import { requireHere } from '../../services/configuration/paths/moves.ts';
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
  notFound,
  type Params,
  type Resources,
  resolve,
  resolveWithoutOrganization,
  type SomeResources,
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
  bucket?: Charged;
  /** The account whose session admitted the request, or issued its token. */
  accountId?: number;
  /** Ends an open response. Absent: its connection is closed. */
  end?: () => void;
  /** Whether what allowed the request has ended while it was open. */
  hasEnded?: boolean;
}

type Charged = Pick<TokenBucket, 'charge'>;

/** The caller of a request, and the key that bounds its rate: its own, or that of its token. */
type Authenticated = Required<Pick<Admission, 'caller'>> & Pick<Admission, 'session' | 'accountId'> & { key?: Key };

export interface Admissions {
  admit(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<Admission>;
  /**
   * Repeats the checks for a request that is still open, and returns the caller as of now. Throws if it would not be admitted
   * any more. Everything it needs is cached until a change is announced.
   */
  readmit(route: Route, request: FastifyRequest, admission: Admission): Promise<Caller>;
}

export function createAdmissions(deps: Deps, baseUrl: string | undefined): Admissions {
  const limit = createRateLimit();

  const authenticate = (route: Route, request: FastifyRequest): Authenticated | Promise<Authenticated> => {
    const { permission } = route;
    const now = currentTime();
    const params = request.params as Params;
    const token = route.takesTokenInQuery ? tokenInQuery(request) : undefined;
    if (permission === 'account' || (token === undefined && usesCookie(request))) {
      return authenticateAccount(deps, request, baseUrl, params.org, now);
    }
    const text = token ?? presentedKey(request);
    if (text.startsWith(recipientTokenPrefix)) return authenticateWithToken(deps, text, request, now);
    const authenticated = authenticateKey(deps, text, request.ip, now);
    return authenticated instanceof Promise ? authenticated.then(callerOfKey) : callerOfKey(authenticated);
  };

  const requireOrganizationHere = async ({ org }: Params): Promise<void> => {
    if (org === undefined) return;
    const checking = requireHere(deps, { slug: org });
    if (checking) await checking;
  };

  return {
    async admit(route, request, reply) {
      const { permission } = route;
      const params = request.params as Params;
      await requireOrganizationHere(params);
      if (permission === 'public') {
        refuseCrossSite(request, baseUrl);
        return { resources: resolveWithoutOrganization(deps, params) };
      }
      const authenticated = authenticate(route, request);
      const { caller, session, accountId, key } =
        authenticated instanceof Promise ? await authenticated : authenticated;
      const bucket = key && limit(key, caller.kind, request, reply, performance.now());
      requirePermission(caller, permission, params);
      const { scope } = caller.grant;
      const resources =
        params.org === undefined ? resolveWithoutOrganization(deps, params) : await resolve(deps, scope!, params);
      return { caller, session, accountId, resources, bucket };
    },

    async readmit(route, request, { resources }) {
      const { org, prj, app, evt } = request.params as Params;
      await requireOrganizationHere({ org });
      const { caller } = await authenticate(route, request);
      requirePermission(caller, route.permission, request.params as Params);
      if (org === undefined) return caller;
      const named = Object.entries({ org, prj, app, evt }).filter(([, text]) => text !== undefined);
      await resolve(deps, caller.grant.scope!, Object.fromEntries(named));
      const { organization, user } = resources as SomeResources;
      if (user && !(await deps.tenantCache.findRecipient(organization!.id, user.id))) {
        throw notFound('user.not_found', 'user', user.username);
      }
      return caller;
    },
  };
}

function callerOfKey(key: Key): Authenticated {
  const { id, name, permissions, expires_at } = key;
  const grant = new Grant(permissions, key);
  return { key, caller: { kind: 'key', id, name, grant, limits: key, expiresAt: expires_at?.getTime() } };
}

/** A caller without the permission learns nothing about what exists. */
function requirePermission({ kind, name, grant }: Caller, permission: Route['permission'], params: Params): void {
  if (permission === 'public' || (permission === 'account' && kind === 'account')) return;
  const isAllowed = permission !== 'account' && grant.allowsRoute(permission);
  if (kind === 'key' && !isAllowed)
    throw new AppError('key.permission', `the API key ${name} lacks the permission ${permission}`);
  if (kind === 'account' && !isAllowed)
    throw new AppError('role.permission', `your role lacks the permission ${permission}`);
  if (kind !== 'recipient') return;
  if (!isAllowed || params.username === undefined)
    throw new AppError('key.permission', `a recipient token lacks the permission ${permission}`);
  // All other users do not exist for a recipient.
  if (fold(params.username) !== name) throw notFound('user.not_found', 'user', params.username);
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

/** Checks membership here, before any permission: a role belongs to an organization. */
async function authenticateAccount(
  deps: Deps,
  request: FastifyRequest,
  baseUrl: string | undefined,
  org: string | undefined,
  now: number,
): Promise<Authenticated> {
  const session = await requireSession(deps, request, now);
  refuseCrossSite(request, baseUrl);
  requireCsrfToken(deps, request, session);
  const { account } = session;
  const callerWith = (grant: Grant): Authenticated => {
    const { id, email: name } = account;
    const expiresAt = session.expiresAt.getTime();
    return { session, accountId: id, caller: { kind: 'account', id: String(id), name, grant, expiresAt } };
  };
  if (org === undefined) return callerWith(new Grant(instancePermissionsOf(session), null));
  const path = await deps.tenantCache.resolvePath({ org });
  const role = path && roleIn(session, path.organization.id);
  if (!role) throw notFound('organization.not_found', 'organization', org);
  if (path.organization.two_factor_required && !isTwoFactor(session)) {
    throw new AppError(
      'session.two_factor_required',
      `${org} requires two-factor authentication: set up an authenticator app or a passkey for your account`,
    );
  }
  const scope = { organization_id: path.organization.id, project_id: null, application_id: null };
  return callerWith(new Grant(permissionsIn(session, role), scope));
}

/** Permissions of a recipient token, which an application issues for a recipient's browser. */
const recipientPermissions: readonly Permission[] = [
  'inbox:read',
  'inbox:write',
  'preference:read',
  'preference:write',
];

/** Gives a recipient access to their own preferences and inbox. */
async function authenticateWithToken(
  deps: Deps,
  token: string,
  { ip }: FastifyRequest,
  now: number,
): Promise<Authenticated> {
  const bearer = await authenticateRecipient(deps, token, ip, now);
  const { organization_id, id, username: name, expiresAt, key, accountId } = bearer;
  const grant = new Grant(recipientPermissions, { organization_id, project_id: null, application_id: null });
  return { key, accountId, caller: { kind: 'recipient', id: String(id), name, grant, expiresAt } };
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

/**
 * Limits requests per key and process, if the key has a rate limit. Keys that were created or rotated with it share its
 * limit, so that a key does not multiply its rate. The same limit applies to all recipient tokens of the key together. They are
 * counted separately, so that recipients cannot use up what the application needs itself.
 */
function createRateLimit() {
  const buckets = new Map<string, TokenBucket>();
  const bucketOf = (id: string, rate: number, now: number): TokenBucket => {
    let bucket = buckets.get(id);
    if (!bucket) {
      bucket = new TokenBucket(rate, now);
      buckets.set(id, bucket);
    }
    bucket.setRate(rate, now);
    return bucket;
  };
  return (
    key: Key,
    kind: Caller['kind'],
    request: FastifyRequest,
    reply: FastifyReply,
    now: number,
  ): Charged | undefined => {
    const { requests_per_second: rate, group_rate } = key;
    if (rate === null) return undefined;
    const cost = declaredCost(request);
    const name = kind === 'key' ? `the API key ${key.name}` : 'the API key of the token';
    const own = bucketOf(`${kind} ${key.id}`, rate, now);
    const { taken, left, resetSeconds } = own.take(now, cost);
    reply.headers({ 'ratelimit-limit': rate, 'ratelimit-remaining': left, 'ratelimit-reset': resetSeconds });
    const refuse = (limited: string, retryAfterSeconds: number) =>
      new AppError(
        'request.rate_limited',
        `${limited} requests per second; a body counts as one request per started 16 KiB`,
        {
          retryAfterSeconds,
        },
      );
    if (!taken) throw refuse(`${name} is limited to ${rate}`, resetSeconds);
    if (group_rate === null) return own;
    const shared = bucketOf(`${kind} group ${key.rate_group ?? key.id}`, group_rate, now);
    const group = shared.take(now, cost);
    if (!group.taken) {
      reply.headers({ 'ratelimit-remaining': 0, 'ratelimit-reset': group.resetSeconds });
      const others = `${name} and the keys that were created or rotated with it are together limited to ${group_rate}`;
      throw refuse(others, group.resetSeconds);
    }
    return {
      charge: more => {
        own.charge(more);
        shared.charge(more);
      },
    };
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
