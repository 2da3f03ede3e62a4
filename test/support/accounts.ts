/** Accounts for tests, and a browser that keeps its cookies. */
import { sha256 } from '../../src/core/identity/tokens.ts';
import type { Deps } from '../../src/services/deps.ts';
import { type AccountInput, createAccount } from '../../src/services/identity/accounts.ts';
import { type Answer, type Asked, ask } from './api.ts';

export const password = 'correct horse battery';

let count = 0;

export async function newAccount(deps: Deps, input: Partial<AccountInput> = {}) {
  const email = `person-${++count}@people.test`;
  const { id } = await createAccount(deps, { email, name: 'A person', password, ...input });
  return { id, email: input.email ?? email };
}

/** Simulates failed attempts from many networks. */
export async function simulateAttemptsFromAnywhere({ db }: Deps, email: string, attempts: number): Promise<void> {
  const scope = 'password from anywhere';
  await db
    .insertInto('sign_in_limits')
    .values({ email_hash: sha256(email), scope, attempts })
    .execute();
}

/** Keeps the cookies like a browser, and sends the CSRF token like the console. */
export class Browser {
  readonly #address: string;
  cookie = '';
  csrf = '';
  /** The device cookie. */
  device = '';

  constructor(address: string) {
    this.#address = address;
  }

  async ask({ headers = {}, ...asked }: Asked): Promise<Answer> {
    const own = {
      ...((this.cookie || this.device) && { cookie: [this.cookie, this.device].filter(Boolean).join('; ') }),
      ...(this.csrf && { 'x-csrf-token': this.csrf }),
    };
    const answer = await ask(this.#address, { ...asked, headers: { ...own, ...headers } });
    for (const set of ([answer.headers['set-cookie'] ?? []] as (string | string[])[]).flat()) {
      this.cookie = /^(belfry_session=[^;]*)/.exec(set)?.[1] ?? this.cookie;
      this.device = /^(belfry_device_\d+=[^;]*)/.exec(set)?.[1] ?? this.device;
    }
    if (answer.body?.csrf_token) this.csrf = answer.body.csrf_token;
    return answer;
  }

  signIn(email: string, secret = password): Promise<Answer> {
    return this.ask({ method: 'POST', path: '/api/session/', body: { email, password: secret } });
  }
}

/** Creates an account and signs it in. */
export async function signInNewAccount(
  address: string,
  deps: Deps,
  input: Partial<AccountInput> = {},
): Promise<Browser & { email: string; id: number }> {
  const { id, email } = await newAccount(deps, input);
  const browser = new Browser(address);
  const answer = await browser.signIn(email);
  if (answer.status !== 200) throw new Error(`could not sign in: ${answer.text}`);
  return Object.assign(browser, { email, id });
}
