/** OpenID Connect: the authorization code flow with PKCE, state and nonce, against one provider. */
import type { Configuration } from 'openid-client';

export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What people call the provider. */
  name: string;
}

/** What has to be remembered between leaving for the provider and coming back. */
export interface OidcState {
  state: string;
  nonce: string;
  verifier: string;
}

/** Who the provider says it is. */
export interface Identity {
  issuer: string;
  subject: string;
  email: string | undefined;
  emailVerified: boolean;
  name: string | undefined;
}

const timeoutSeconds = 10;

export class Oidc {
  readonly name: string;
  readonly #settings: OidcSettings;
  #found: Promise<Configuration> | undefined;

  constructor(settings: OidcSettings) {
    this.name = settings.name;
    this.#settings = settings;
  }

  async begin(redirectUri: string): Promise<{ url: string; state: OidcState }> {
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
    });
    return { url: url.href, state };
  }

  /** Throws when the answer is not the provider's to what was begun. */
  async finish(answered: URL, { state, nonce, verifier }: OidcState): Promise<Identity> {
    const client = await import('openid-client');
    const provider = await this.#provider();
    const tokens = await client.authorizationCodeGrant(provider, answered, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const told = tokens.claims()!;
    // Some providers put the email into the token, others only tell it when asked.
    const asked =
      typeof told.email === 'string' || !provider.serverMetadata().userinfo_endpoint
        ? told
        : await client.fetchUserInfo(provider, tokens.access_token, told.sub);
    const { email, email_verified: verified, name } = asked;
    return {
      issuer: told.iss,
      subject: told.sub,
      email: typeof email === 'string' ? email : undefined,
      // As a text too, which is what one large provider sends.
      emailVerified: verified === true || (verified as unknown) === 'true',
      name: typeof name === 'string' ? name : undefined,
    };
  }

  /** Asked for once; again when it could not be reached. */
  #provider(): Promise<Configuration> {
    this.#found ??= this.#discover().catch(error => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#settings;
    const execute = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    const options = { execute, timeout: timeoutSeconds };
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), options);
    // What a provider that says nothing takes, according to the specification, is Basic.
    const { token_endpoint_auth_methods_supported: methods } = found.serverMetadata();
    const takesBasic = !methods || methods.includes('client_secret_basic');
    const authentication = takesBasic ? client.ClientSecretBasic(clientSecret) : client.ClientSecretPost(clientSecret);
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
