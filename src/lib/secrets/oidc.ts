/** OpenID Connect: the authorization code flow with PKCE, state and nonce, against one provider. */
import type { Configuration } from 'openid-client';

interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The provider's display name. */
  name: string;
}

/** What must be kept between the redirect to the provider and the callback. */
export interface OidcState {
  state: string;
  nonce: string;
  verifier: string;
}

/** The user as the provider identifies them. */
export interface Identity {
  issuer: string;
  subject: string;
  email: string | undefined;
  emailVerified: boolean;
  name: string | undefined;
  /** When the user entered their credentials, in milliseconds since the epoch, if the provider reports it. */
  authenticatedAt: number | undefined;
}

const timeoutSeconds = 10;

export class Oidc {
  readonly name: string;
  readonly #settings: OidcSettings;
  #discovered: Promise<Configuration> | undefined;

  constructor(settings: OidcSettings) {
    this.name = settings.name;
    this.#settings = settings;
  }

  /** `again`: the provider asks for the credentials even if the user is signed in there, and reports when they were entered. */
  async begin(redirectUri: string, { again = false } = {}): Promise<{ url: string; state: OidcState }> {
    const client = await import('openid-client');
    const provider = await this.#provider();
    const state = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(provider, {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      code_challenge: await client.calculatePKCECodeChallenge(state.verifier),
      code_challenge_method: 'S256',
      state: state.state,
      nonce: state.nonce,
      ...(again && { prompt: 'login', max_age: '0' }),
    });
    return { url: url.href, state };
  }

  /** Throws unless the callback is the provider's answer to the request that `begin` made. */
  async finish(callbackUrl: URL, { state, nonce, verifier }: OidcState): Promise<Identity> {
    const client = await import('openid-client');
    const provider = await this.#provider();
    const tokens = await client.authorizationCodeGrant(provider, callbackUrl, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    // Some providers put the email into the ID token, others return it only from the userinfo endpoint.
    const profile =
      typeof claims.email === 'string' || !provider.serverMetadata().userinfo_endpoint
        ? claims
        : await client.fetchUserInfo(provider, tokens.access_token, claims.sub);
    const { email, email_verified: verified, name } = profile;
    return {
      issuer: claims.iss,
      subject: claims.sub,
      email: typeof email === 'string' ? email : undefined,
      // One large provider sends it as a string.
      emailVerified: verified === true || (verified as unknown) === 'true',
      name: typeof name === 'string' ? name : undefined,
      authenticatedAt: claims.auth_time === undefined ? undefined : claims.auth_time * 1_000,
    };
  }

  /** Discovers the provider once; after a failure it is discovered again. */
  #provider(): Promise<Configuration> {
    this.#discovered ??= this.#discover().catch(error => {
      this.#discovered = undefined;
      throw error;
    });
    return this.#discovered;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#settings;
    const execute = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    const options = { execute, timeout: timeoutSeconds };
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), options);
    // The specification's default, if the provider names no methods, is Basic.
    const { token_endpoint_auth_methods_supported: methods } = found.serverMetadata();
    const supportsBasic = !methods || methods.includes('client_secret_basic');
    const authentication = supportsBasic
      ? client.ClientSecretBasic(clientSecret)
      : client.ClientSecretPost(clientSecret);
    const configuration = new client.Configuration(
      found.serverMetadata(),
      clientId,
      { client_secret: clientSecret },
      authentication,
    );
    configuration.timeout = timeoutSeconds;
    for (const setting of execute) setting(configuration);
    return configuration;
  }
}
