/**
 * Access tokens for signing in by OAuth 2.0 (RFC 6749, 7523) where passwords no longer work: with a refresh token, as an application
 * (client credentials), or as a service account of Google.
 */
import { importPKCS8, SignJWT } from 'jose';
import type { Static } from 'typebox';
import { isObject } from '../../../core/json.ts';
import { type Renewal, RenewedValue } from '../../../lib/caching/renewed-value.ts';
import type { Outbound } from '../../../lib/network/outbound.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { type Failure, pick, sendHttp } from '../../http-outcome.ts';
import type { SettingMistake } from '../../provider.ts';
import type { SmtpSettings } from './settings.ts';

type Settings = Static<typeof SmtpSettings>;

/** Signing in failed without the mail server: there is no token. */
export class TokenError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.reason);
    this.failure = failure;
  }
}

export interface AccessTokens {
  /** Returns a token, and whether it was requested for this call. Throws TokenError. */
  get(): Promise<{ value: string; isNew: boolean }>;
  forget(token: string): void;
}

/** Returns undefined if the settings sign in with a password, or not at all. */
export function createAccessTokens(settings: Settings, outbound: Outbound): AccessTokens | undefined {
  if (!settings.oauth2_service) return undefined;
  const tokens = new RenewedValue<string, Failure>(() => requestToken(settings, outbound));
  return {
    async get() {
      const token = await tokens.get();
      if ('failure' in token) throw new TokenError(token.failure);
      return token;
    },
    forget: token => tokens.forget(token),
  };
}

/** Returns the initial response of the SASL mechanism XOAUTH2. */
export function toXOAuth2(user: string, token: string): string {
  return Buffer.from(`user=${user}\x01auth=Bearer ${token}\x01\x01`).toString('base64');
}

const googleTokenUrl = 'https://oauth2.googleapis.com/token';
const googleScope = 'https://mail.google.com/';
/** The scopes of Exchange Online: as a user, and as an application. */
const microsoftUserScope = 'https://outlook.office.com/SMTP.Send offline_access';
const microsoftAppScope = 'https://outlook.office365.com/.default';

const names = { microsoft: 'Microsoft', google: 'Google', other: 'the OAuth 2.0 server' };

async function requestToken(settings: Settings, outbound: Outbound): Promise<Renewal<string> | { failure: Failure }> {
  const { oauth2_service: service = 'other', oauth2_client_secret, oauth2_refresh_token } = settings;
  const form = await toForm(settings);
  if ('mistake' in form) return { failure: { ok: false, retry: false, denied: true, reason: form.mistake } };
  let lifetimeSeconds = 0;
  let error = '';
  const outcome = await sendHttp(outbound, {
    url: tokenUrlOf(settings),
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
    timeoutMs: settings.timeout_ms,
    secrets: [oauth2_client_secret, oauth2_refresh_token, form.assertion],
    id: ({ json }) => {
      // It is only recommended: an hour is usual.
      lifetimeSeconds = Number(pick(json, 'expires_in') ?? 3_600);
      return pick(json, 'access_token');
    },
    errorText: ({ json }) =>
      [pick(json, 'error'), pick(json, 'error_description')].filter(Boolean).join(': ') || undefined,
    classify: ({ status, json }) => {
      error = pick(json, 'error') ?? '';
      if (status < 300) return undefined;
      if (error === 'temporarily_unavailable' || error === 'server_error') return { retry: true };
      const isDenied = status === 400 || status === 403 || error === 'invalid_client';
      return isDenied ? { retry: false, denied: true } : undefined;
    },
  });
  if (outcome.ok && outcome.id && lifetimeSeconds > 0)
    return { value: outcome.id, lifetimeMs: lifetimeSeconds * 1_000 };
  const where = `signing in to ${names[service]}`;
  if (outcome.ok)
    return { failure: { ok: false, retry: true, reason: `${where}: the token response could not be read` } };
  // No email was sent yet.
  const { unknown: _, ...failure } = outcome;
  const advice = failure.denied ? adviceOn(error, settings) : '';
  return { failure: { ...failure, reason: `${where}: ${advice}${failure.reason}` } };
}

function adviceOn(error: string, settings: Settings): string {
  if (error === 'invalid_client')
    return 'enter a valid oauth2_client_id and oauth2_client_secret, which may have expired; ';
  if (error !== 'invalid_grant') return '';
  if (settings.oauth2_service_account) return 'allow the service account to act for the user, or enter a new key; ';
  return 'the refresh token has expired or was revoked: authorize again and enter the new one as oauth2_refresh_token; ';
}

function tokenUrlOf({ oauth2_service, oauth2_tenant, oauth2_token_url, oauth2_service_account }: Settings): string {
  if (oauth2_token_url) return oauth2_token_url;
  if (oauth2_service !== 'microsoft') return readAccount(oauth2_service_account)?.token_uri ?? googleTokenUrl;
  return `https://login.microsoftonline.com/${encodeURIComponent(oauth2_tenant ?? 'common')}/oauth2/v2.0/token`;
}

type Form = Record<string, string> & { assertion?: string };

async function toForm(settings: Settings): Promise<Form | { mistake: string }> {
  const { oauth2_service, oauth2_client_id, oauth2_client_secret, oauth2_refresh_token } = settings;
  if (settings.oauth2_service_account !== undefined) return assertionOf(settings);
  const client = {
    ...(oauth2_client_id && { client_id: oauth2_client_id }),
    ...(oauth2_client_secret && { client_secret: oauth2_client_secret }),
  };
  const isMicrosoft = oauth2_service === 'microsoft';
  if (oauth2_refresh_token !== undefined) {
    const scope = settings.oauth2_scope ?? (isMicrosoft ? microsoftUserScope : undefined);
    return { grant_type: 'refresh_token', ...client, refresh_token: oauth2_refresh_token, ...(scope && { scope }) };
  }
  const scope = settings.oauth2_scope ?? (isMicrosoft ? microsoftAppScope : undefined);
  return { grant_type: 'client_credentials', ...client, ...(scope && { scope }) };
}

interface ServiceAccount {
  client_email: string;
  private_key: string;
  token_uri: string;
}

/** The longest that Google accepts. */
const assertionMs = 3_600_000;

async function assertionOf({
  user,
  oauth2_service_account,
  oauth2_token_url,
  oauth2_scope,
}: Settings): Promise<Form | { mistake: string }> {
  const account = readAccount(oauth2_service_account);
  if (!account) return { mistake: notAnAccount };
  try {
    const key = await importPKCS8(account.private_key, 'RS256');
    const issuedAt = new Date(currentTime());
    const assertion = await new SignJWT({ scope: oauth2_scope ?? googleScope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(account.client_email)
      .setSubject(user ?? '')
      .setAudience(oauth2_token_url ?? account.token_uri)
      .setIssuedAt(issuedAt)
      .setExpirationTime(new Date(issuedAt.getTime() + assertionMs))
      .sign(key);
    return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  } catch {
    return { mistake: 'the private key in oauth2_service_account cannot be read' };
  }
}

const notAnAccount = 'oauth2_service_account is not the JSON file of a service account';

function readAccount(text: string | undefined): ServiceAccount | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    if (!isObject(value)) return undefined;
    const { client_email, private_key, token_uri = googleTokenUrl } = value;
    const fields = { client_email, private_key, token_uri };
    return Object.values(fields).every(field => typeof field === 'string') ? (fields as ServiceAccount) : undefined;
  } catch {
    return undefined;
  }
}

/** Finds settings that do not fit together: each service needs its own. */
export function* findOAuth2Mistakes(settings: Partial<Settings>): Iterable<SettingMistake> {
  const { user, oauth2_service: service, oauth2_service_account: account, oauth2_token_url } = settings;
  const others = Object.keys(settings).filter(name => name.startsWith('oauth2_') && name !== 'oauth2_service');
  if (service === undefined) {
    if (others.length > 0) yield missing('oauth2_service', others[0]!);
    return;
  }
  if (user === undefined) yield missing('user', 'oauth2_service');
  if (account && service !== 'google')
    yield { field: 'oauth2_service_account', message: 'is for oauth2_service: google only' };
  else if (account && !readAccount(account))
    yield { field: 'oauth2_service_account', message: 'must be the JSON file of a service account, as text' };
  if (service === 'other' && oauth2_token_url === undefined) yield missing('oauth2_token_url', 'oauth2_service: other');
  if (account) return;
  if (service === 'microsoft' && settings.oauth2_tenant === undefined)
    yield missing('oauth2_tenant', 'oauth2_service: microsoft');
  for (const field of ['oauth2_client_id', 'oauth2_client_secret'] as const)
    if (settings[field] === undefined) yield missing(field, 'oauth2_service');
  if (service === 'google' && settings.oauth2_refresh_token === undefined) {
    const message = 'or oauth2_service_account is required with oauth2_service: google';
    yield { field: 'oauth2_refresh_token', message, missing: true };
  }
}

function missing(field: string, by: string): SettingMistake {
  return { field, message: `is required together with ${by}`, missing: true };
}
