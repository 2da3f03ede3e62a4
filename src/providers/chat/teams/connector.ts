/** The clouds of Microsoft, and access tokens for the Bot Connector, https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication */
import { createHash } from 'node:crypto';
import { type Renewal, RenewedValue } from '../../../lib/caching/renewed-value.ts';
import type { Outbound } from '../../../lib/network/outbound.ts';
import { join } from '../../fields.ts';
import { type Failure, pick, sendHttp } from '../../http-outcome.ts';

interface Cloud {
  /** Where messages go to. */
  service: string;
  login: string;
  /** Who issues the tokens of the service's requests, and for whom ours are. */
  issuer: string;
  /** The document that names the keys of the issuer. */
  metadata: string;
  /** The directory of bots that were registered for several tenants. */
  multiTenant: string;
}

const open = {
  login: 'https://login.microsoftonline.com',
  issuer: 'https://api.botframework.com',
  metadata: 'https://login.botframework.com/v1/.well-known/openidconfiguration',
  multiTenant: 'botframework.com',
};
const government = {
  login: 'https://login.microsoftonline.us',
  issuer: 'https://api.botframework.us',
  metadata: 'https://login.botframework.azure.us/v1/.well-known/openidconfiguration',
  multiTenant: 'MicrosoftServices.onmicrosoft.us',
};

export const clouds = {
  public: { ...open, service: 'https://smba.trafficmanager.net/teams' },
  gcc: { ...open, service: 'https://smba.infra.gcc.teams.microsoft.com/teams' },
  'gcc-high': { ...government, service: 'https://smba.infra.gov.teams.microsoft.us/teams' },
  dod: { ...government, service: 'https://smba.infra.dod.teams.microsoft.us/teams' },
} satisfies Record<string, Cloud>;

export interface Bot {
  app_id: string;
  app_secret: string;
  tenant_id: string;
  multi_tenant?: boolean | undefined;
  cloud?: keyof typeof clouds | undefined;
  login_url?: string | undefined;
  timeout_ms?: number | undefined;
}

export type Tokens = RenewedValue<string, Failure>;

export function tokensOf(bot: Bot, outbound: Outbound): Tokens {
  return new RenewedValue(() => requestToken(bot, outbound));
}

/** More bots than answer people in one process. */
const maxCached = 500;
const cached = new WeakMap<Outbound, Map<string, Tokens>>();

/** Returns tokens that outlive this request, for answers to people: each of them would otherwise ask for another one. */
export function cachedTokensOf(bot: Bot, outbound: Outbound): Tokens {
  const own = cached.get(outbound) ?? new Map<string, Tokens>();
  cached.set(outbound, own);
  const key = createHash('sha256').update(JSON.stringify(bot)).digest('hex');
  const found = own.get(key) ?? tokensOf(bot, outbound);
  if (own.size >= maxCached) own.clear();
  own.set(key, found);
  return found;
}

export async function requestToken(
  { app_id, app_secret, tenant_id, multi_tenant, cloud = 'public', login_url, timeout_ms }: Bot,
  outbound: Outbound,
): Promise<Renewal<string> | { failure: Failure }> {
  const { login, issuer, multiTenant } = clouds[cloud];
  let lifetimeSeconds = 0;
  const outcome = await sendHttp(outbound, {
    url: join(login_url ?? login, `/${multi_tenant ? multiTenant : tenant_id}/oauth2/v2.0/token`),
    form: {
      grant_type: 'client_credentials',
      client_id: app_id,
      client_secret: app_secret,
      scope: `${issuer}/.default`,
    },
    timeoutMs: timeout_ms,
    secrets: [app_secret],
    id: ({ json }) => {
      lifetimeSeconds = Number(pick(json, 'expires_in'));
      return pick(json, 'access_token');
    },
    errorText: ({ json }) => pick(json, 'error_description') ?? pick(json, 'error'),
    // An unknown app or directory is a 400, a wrong secret a 401.
    classify: ({ status }) => (status === 400 || status === 401 ? { retry: false, denied: true } : undefined),
  });
  if (!outcome.ok) {
    // Nothing was sent to anyone yet.
    const { unknown: _, ...failure } = outcome;
    return { failure: { ...failure, reason: `signing in to Microsoft: ${failure.reason}` } };
  }
  if (outcome.id && lifetimeSeconds > 0) return { value: outcome.id, lifetimeMs: lifetimeSeconds * 1_000 };
  return { failure: { ok: false, retry: true, reason: 'the token response of Microsoft could not be read' } };
}
