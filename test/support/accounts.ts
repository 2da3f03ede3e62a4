/** People for tests: accounts with a role, and a browser that keeps its cookie. */
import { sha256 } from '../../src/core/tokens.ts';
import { type AccountInput, createAccount } from '../../src/services/accounts.ts';
import type { Deps } from '../../src/services/deps.ts';
import { type Answer, type Asked, ask } from './api.ts';

export const password = 'correct horse battery';

let count = 0;

export async function newAccount(deps: Deps, input: Partial<AccountInput> = {}) {
  const email = `person-${++count}@people.test`;
  const { id } = await createAccount(deps, { email, name: 'A person', password, ...input });
  return { id, email: input.email ?? email };
}

/** As if many strangers had guessed the password, each from a network of its own. */
export async function guessedFromAnywhere({ db }: Deps, email: string, attempts: number): Promise<void> {
  const scope = 'password from anywhere';
  await db
    .insertInto('sign_in_limits')
    .values({ email_hash: sha256(email), scope, attempts })
    .execute();
}

/** What a browser does: keeps the cookie, and sends the CSRF token that it was told. */
export class Browser {
  readonly #address: string;
  cookie = '';
  csrf = '';
  /** What tells this device from strangers. */
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

  signIn(email: string, given = password): Promise<Answer> {
    return this.ask({ method: 'POST', path: '/api/session/', body: { email, password: given } });
  }
}

/** Somebody with this role who has signed in. */
export async function signedIn(
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
