/** A real OpenID Connect provider on the loopback interface, and a browser that follows redirects. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
// @ts-expect-error: comes without types
import Provider from 'oidc-provider';

export interface Claims {
  email?: string;
  email_verified?: boolean;
  name?: string;
}

export interface TestProvider {
  issuer: string;
  /** Users by subject. Anyone else cancels the sign-in. */
  people: Map<string, Claims>;
  /** The user of the browser. */
  subject: string;
  /** When the user entered the credentials, in milliseconds since the epoch; now if undefined. */
  authenticatedAt: number | undefined;
  /** Must be called before the first sign-in. */
  allowRedirect(uri: string): void;
  stop(): Promise<void>;
}

export const client = { id: 'belfry', secret: 'a secret for tests only' };

export async function startProvider(): Promise<TestProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const people = new Map<string, Claims>();
  const testProvider: TestProvider = {
    issuer,
    people,
    subject: '',
    authenticatedAt: undefined,
    allowRedirect: uri => {
      const provider = build(issuer, uri, testProvider);
      const answer = provider.callback();
      handle = (request, response) => {
        if (!request.url!.startsWith('/interaction/')) return answer(request, response);
        const result = people.has(testProvider.subject)
          ? {
              login: {
                accountId: testProvider.subject,
                ts: Math.floor((testProvider.authenticatedAt ?? Date.now()) / 1_000),
              },
            }
          : { error: 'access_denied' };
        provider.interactionFinished(request, response, result).catch((error: Error) => response.end(String(error)));
      };
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
  return testProvider;
}

function build(issuer: string, redirectUri: string, { people }: TestProvider) {
  const provider = new Provider(issuer, {
    clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    cookies: { keys: ['only for tests'] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    pkce: { required: () => true },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
    // Grants all scopes without a consent page.
    loadExistingGrant: async ({ oidc }: { oidc: GrantContext }) => {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

interface GrantContext {
  client: { clientId: string };
  session: { accountId: string };
}

/** Keeps the cookies of every host and follows redirects. */
export class RedirectingBrowser {
  readonly #cookies = new Map<string, string>();
  /** Every URL that was visited. */
  readonly seen: string[] = [];

  async get(url: string): Promise<Response> {
    const { host } = new URL(url);
    const own = [...this.#cookies].flatMap(([name, value]) => (name.startsWith(`${host} `) ? [value] : []));
    const response = await fetch(url, { redirect: 'manual', headers: { cookie: own.join('; ') } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      this.#cookies.set(`${host} ${pair.split('=')[0]}`, pair);
    }
    return response;
  }

  /** Follows redirects. Returns the first URL that is not a redirect, or for which `until` returns true. */
  async follow(url: string, until: (url: string) => boolean = () => false): Promise<string> {
    for (let at = url, i = 0; i < 15; i++) {
      this.seen.push(at);
      if (until(at)) return at;
      const response = await this.get(at);
      const location = response.headers.get('location');
      if (!location) return at;
      at = new URL(location, at).href;
    }
    throw new Error(`too many redirects: ${this.seen.join(' ')}`);
  }

  cookie(address: string, name: string): string | undefined {
    return this.#cookies.get(`${new URL(address).host} ${name}`);
  }
}
