/**
 * Who asks, may they, and is there what they ask for: in this order, before a byte of the body is read. A caller
 * without the permission learns nothing about what exists, and what lies outside a caller's reach does not exist for it.
 * A caller is a program with a key, or a person with the cookie of a session; both pass the same check.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorCode } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { allows, type Permission } from '../core/permissions.ts';
import { recipientTokenPrefix } from '../core/recipient-links.ts';
import { fold } from '../core/text.ts';
import { TokenBucket } from '../lib/token-bucket.ts';
import { findMember } from '../services/accounts.ts';
import { findCategory } from '../services/categories.ts';
import type { Deps } from '../services/deps.ts';
import { findDistributionList, findMember as findListMember } from '../services/distribution-lists.ts';
import { findChannel } from '../services/holds.ts';
import { hasMessage } from '../services/inbox.ts';
import { findInvite } from '../services/invites.ts';
import { findKey } from '../services/key-changes.ts';
import { authenticate, type Key } from '../services/keys.ts';
import { findLayout, findVersionOfLayout } from '../services/layouts.ts';
import { findNotification, findVersionOfMessage } from '../services/notifications.ts';
import { hasDelivery, hasOccurrence } from '../services/occurrences.ts';
import { authenticateRecipient } from '../services/recipient-links.ts';
import {
  findSession,
  instancePermissionsOf,
  isTwoFactor,
  permissionsIn,
  roleIn,
  type Session,
} from '../services/sessions.ts';
import { findAddress, findUser } from '../services/users.ts';
import { readCookie, refuseForeign, requireCsrfToken } from './cookie.ts';
import type { Caller, Found, Route } from './route.ts';

export interface Admission {
  /** Undefined where anybody may call. */
  caller?: Caller;
  /** Of a person who is signed in. */
  session?: Session;
  found: Found;
}

/** How far down the caller is narrowed. */
type Reach = Pick<Key, 'organization_id' | 'project_id' | 'application_id'>;

type Params = Partial<
  Record<
    | 'org'
    | 'prj'
    | 'app'
    | 'evt'
    | 'category'
    | 'channel'
    | 'username'
    | 'address'
    | 'pk'
    | 'member'
    | 'identifier'
    | 'delivery'
    | 'message'
    | 'account'
    | 'invite'
    | 'key'
    | 'layout'
    | 'notification'
    | 'version',
    string
  >
>;

export function createAdmission(deps: Deps, baseUrl: string | undefined) {
  const limit = createRateLimit();

  return async (route: Route, request: FastifyRequest, reply: FastifyReply): Promise<Admission> => {
    const { permission } = route;
    if (permission === 'public') {
      refuseForeign(request, baseUrl);
      return { found: {} as Found };
    }
    const now = Date.now();
    const params = request.params as Params;
    if (permission === 'account' || isPerson(request)) {
      const session = await requireSession(deps, request, now);
      refuseForeign(request, baseUrl);
      requireCsrfToken(deps, request, session);
      return admitPerson(deps, session, permission, params);
    }
    const text = presentedKey(request);
    if (text.startsWith(recipientTokenPrefix)) return admitRecipient(deps, text, permission, params, now);
    const authenticated = authenticate(deps, text, request.ip, now);
    const key = authenticated instanceof Promise ? await authenticated : authenticated;
    limit(key, reply, now);
    if (!allows(key.permissions, permission)) {
      throw new AppError('key.permission', `the API key ${key.name} lacks the permission ${permission}`);
    }
    const { id, name, permissions } = key;
    return { caller: { kind: 'key', id, name, permissions, reach: key }, found: await find(deps, key, params) };
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
  const callerWith = (permissions: readonly string[], organizationId: number | null): Caller => {
    if (permission !== 'account' && !allows(permissions, permission)) {
      throw new AppError('role.permission', `your role lacks the permission ${permission}`);
    }
    const reach = { organization_id: organizationId, project_id: null, application_id: null };
    return { kind: 'account', id: String(account.id), name: account.email, permissions, reach };
  };
  const { org } = params;
  if (org === undefined)
    return { session, caller: callerWith(instancePermissionsOf(session), null), found: {} as Found };
  const place = isStorable(org) ? await deps.tenantCache.findPlace({ org }) : undefined;
  const role = place && roleIn(session, place.organization.id);
  if (!role) throw notFound('organization.not_found', 'organization', org);
  if (place.organization.two_factor_required && !isTwoFactor(session)) {
    throw new AppError(
      'session.two_factor_required',
      `${org} requires two-factor authentication: set up an authenticator app or a passkey for your account`,
    );
  }
  const caller = callerWith(permissionsIn(session, role), place.organization.id);
  return { session, caller, found: await find(deps, caller.reach as Reach, params) };
}

/** What a recipient's browser may do with the token that the application gave it. */
const ofRecipients: readonly Permission[] = ['inbox:read', 'inbox:write', 'preference:read', 'preference:write'];

/** Their own preferences and inbox; everybody else does not exist for it. */
async function admitRecipient(
  deps: Deps,
  token: string,
  permission: Permission,
  params: Params,
  now: number,
): Promise<Admission> {
  const person = await authenticateRecipient(deps, token, now);
  if (!ofRecipients.includes(permission) || params.username === undefined) {
    throw new AppError('key.permission', `a recipient's token lacks the permission ${permission}`);
  }
  const reach = { organization_id: person.organization_id, project_id: null, application_id: null };
  if (fold(params.username) !== person.username) throw notFound('user.not_found', 'user', params.username);
  const found = await find(deps, reach, params);
  const { id, username: name } = person;
  return { caller: { kind: 'recipient', id: String(id), name, permissions: ofRecipients, reach }, found };
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

async function find(deps: Deps, key: Reach, params: Params): Promise<Found> {
  const { org, prj, app, evt } = params;
  if (org === undefined) return {} as Found;
  for (const text of Object.values(params)) if (!isStorable(text)) throw notFound('path.not_found', 'path', text);

  const known = deps.tenantCache.findPlace({ org, prj, app, evt });
  const place = known instanceof Promise ? await known : known;
  if (place?.organization.id !== key.organization_id || (key.project_id !== null && prj === undefined)) {
    throw notFound('organization.not_found', 'organization', org);
  }
  if (
    prj !== undefined &&
    (!isWithin(key.project_id, place.project) || (key.application_id !== null && app === undefined))
  ) {
    throw notFound('project.not_found', 'project', prj);
  }
  if (app !== undefined && !isWithin(key.application_id, place.application)) {
    throw notFound('application.not_found', 'application', app);
  }
  if (evt !== undefined && !place.event) throw notFound('event.not_found', 'event', evt);

  const extra: Partial<Found> = {};
  if (params.channel !== undefined) {
    const id = await findChannel(deps, place.organization.id, place.project?.id ?? null, params.channel);
    if (id === undefined) throw notFound('channel.not_found', 'channel', params.channel);
    extra.channel = { id, slug: params.channel };
  }
  if (params.category !== undefined) {
    const known = await findCategory(deps, place.organization.id, params.category);
    if (!known) throw notFound('category.not_found', 'category', params.category);
    extra.category = { slug: params.category };
  }
  if (params.username !== undefined) {
    extra.user = await findUser(deps, place.organization.id, params.username);
    if (!extra.user) throw notFound('user.not_found', 'user', params.username);
  }
  if (params.address !== undefined) {
    const id = parseId(params.address);
    extra.address = id === undefined ? undefined : await findAddress(deps, place.organization.id, extra.user!.id, id);
    if (!extra.address) throw notFound('address.not_found', 'address', params.address);
  }
  if (params.pk !== undefined) {
    const id = parseId(params.pk);
    extra.list =
      id === undefined ? undefined : await findDistributionList(deps, place.organization.id, place.project!.id, id);
    if (!extra.list) throw notFound('list.not_found', 'distribution list', params.pk);
  }
  if (params.member !== undefined) {
    const id = parseId(params.member);
    const found = id === undefined ? undefined : await findListMember(deps, place.organization.id, extra.list!.id, id);
    if (!found) throw notFound('member.not_found', 'member', params.member);
    extra.member = found;
  }
  if (params.identifier !== undefined) {
    const { identifier } = params;
    const known = isUuid(identifier) && (await hasOccurrence(deps, place.organization.id, identifier));
    if (!known) throw notFound('occurrence.not_found', 'occurrence', identifier);
    extra.occurrence = { identifier };
  }
  if (params.delivery !== undefined) {
    const id = parseId(params.delivery);
    const known = id !== undefined && (await hasDelivery(deps, place.organization.id, params.identifier!, id));
    if (!known) throw notFound('delivery.not_found', 'delivery', params.delivery);
    extra.delivery = { id };
  }
  if (params.key !== undefined) {
    const named = await findKey(deps, place.organization.id, params.key);
    if (!named) throw notFound('key.not_found', 'key', params.key);
    extra.key = named;
  }
  if (params.message !== undefined) {
    const id = parseId(params.message);
    const known = id !== undefined && (await hasMessage(deps, place.organization.id, extra.user!.id, id));
    if (!known) throw notFound('message.not_found', 'message', params.message);
    extra.message = { id };
  }
  if (params.account !== undefined) {
    const id = parseId(params.account);
    const known = id !== undefined && (await findMember(deps.db, place.organization.id, id));
    if (!known) throw notFound('account.not_found', 'account', params.account);
    extra.account = { id };
  }
  if (params.invite !== undefined) {
    const id = parseId(params.invite);
    extra.invite = id === undefined ? undefined : await findInvite(deps.db, place.organization.id, id);
    if (!extra.invite) throw notFound('invite.not_found', 'invite', params.invite);
  }
  if (params.notification !== undefined) {
    const id = parseId(params.notification);
    extra.notification =
      id === undefined ? undefined : await findNotification(deps, place.organization.id, place.event!.id, id);
    if (!extra.notification) throw notFound('notification.not_found', 'notification', params.notification);
  }
  if (params.layout !== undefined) {
    const id = parseId(params.layout);
    extra.layout =
      id === undefined ? undefined : await findLayout(deps, place.organization.id, place.project?.id ?? null, id);
    if (!extra.layout) throw notFound('layout.not_found', 'layout', params.layout);
  }
  if (params.version !== undefined) {
    const number = parseId(params.version);
    const known =
      number !== undefined &&
      number <= largestVersion &&
      (extra.layout
        ? await findVersionOfLayout(deps, place.organization.id, extra.layout.id, number)
        : await findVersionOfMessage(deps, place.organization.id, extra.notification!.id, number));
    if (!known) throw notFound('version.not_found', 'version', params.version);
    extra.version = { number };
  }
  return { ...place, ...extra } as Found;
}

/** What the column holds. */
const largestVersion = 2 ** 31 - 1;

/** Undefined for what is no id of ours. */
function parseId(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Whether it is there, and is the one that the key is narrowed to, if it is narrowed. */
function isWithin(narrowedTo: number | null, place: { id: number } | undefined): boolean {
  return place !== undefined && (narrowedTo === null || narrowedTo === place.id);
}

function notFound(code: ErrorCode, noun: string, name: string): AppError {
  return new AppError(code, `there is no ${noun} ${JSON.stringify(name)} here, or it is out of your reach`);
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
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
