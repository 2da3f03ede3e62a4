/** What the members of an organization find in the cell that it moves to, where others may have created accounts with their emails. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { createAccount, resetPassword } from '../../src/services/identity/accounts.ts';
import {
  forgetOrganization,
  type MoveResult,
  moveOrganization,
} from '../../src/services/operations/organization-moves.ts';
import { Browser, newAccount, password } from '../support/accounts.ts';
import { expectProblem } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { addPasskey, type SoftwarePasskey, signInWith } from '../support/passkey.ts';
import { runSql } from '../support/sql.ts';
import { codeOf, enroll } from '../support/totp.ts';

/** A cell: passkeys need a host name, and no mail server is set, so that the links of invites are shown. */
interface Cell extends Service {
  key: string;
  database: TestDatabase;
  owner: Browser;
}

const origin = 'http://localhost';
const attackersPassword = 'password of the attacker';

async function startCell(number: number, organization: string): Promise<Cell> {
  const database = await createTestDatabase();
  const key = `the secret key of cell ${number}, 32 characters`;
  const env = { BELFRY_ROLE: 'api', BELFRY_CELL: String(number), BELFRY_SECRET_KEY: key, BASE_URL: origin };
  const service = await startService(testConfig(database.url, env), silent);
  const { deps } = service.runtime;
  await runSql(database.url, 'insert into organizations (slug, name) values ($1, $1)', [organization]);
  const { email } = await newAccount(deps, { membership: { organization, role: 'owner' } });
  const owner = new Browser(service.address);
  expect((await owner.signIn(email)).status).toBe(200);
  return { ...service, key, database, owner };
}

/** Creates an account with the link of an invite that is shown to the inviter, as anyone can who has an organization. */
async function joinByShownLink(cell: Cell, organization: string, email: string, secret: string): Promise<Browser> {
  const invite = { method: 'POST', path: `/api/o/${organization}/invite/`, body: { email, role: 'viewer' } };
  const { body } = await cell.owner.ask(invite);
  const browser = new Browser(cell.address);
  const accept = { method: 'POST', path: `/api/invite/${body.link.split('/').at(-1)}/` };
  expect((await browser.ask({ ...accept, body: { name: 'Joined', password: secret } })).status).toBe(201);
  return browser;
}

async function signedIn(cell: Cell, email: string, secret = password): Promise<Browser> {
  const browser = new Browser(cell.address);
  expect((await browser.signIn(email, secret)).status).toBe(200);
  return browser;
}

const owns = async (browser: Browser) =>
  (await browser.ask({ path: '/api/session/' })).body.organizations.map(({ slug }: { slug: string }) => slug);

let source: Cell;
let target: Cell;
let result: MoveResult;
const member = (email: string) =>
  createAccount(source.runtime.deps, { email, password, membership: { organization: 'acme', role: 'owner' } });
const attempt = (email: string, secret = password, cell = target) => new Browser(cell.address).signIn(email, secret);

const move = (from: Cell, to: Cell) =>
  moveOrganization(from.runtime.deps, {
    slug: 'acme',
    sourceUrl: from.database.url,
    targetUrl: to.database.url,
    targetKey: to.key,
    url: origin,
    onProgress: () => {},
  });

const planted: Record<string, Browser> = {};
let passkey: SoftwarePasskey;
let recoveryCodes: string[];
let totp: string;
let before: Browser;

beforeAll(async () => {
  [source, target] = await Promise.all([startCell(1, 'acme'), startCell(2, 'evil')]);
  // Verified here, and planted there.
  await member('owner@people.test');
  passkey = await addPasskey(await signedIn(source, 'owner@people.test'), origin);
  // Verified in neither cell: once planted, once unknown there.
  await joinByShownLink(source, 'acme', 'unproved@people.test', password);
  await joinByShownLink(source, 'acme', 'viewer@people.test', password);
  for (const email of ['owner@people.test', 'unproved@people.test']) {
    planted[email] = await joinByShownLink(target, 'evil', email, attackersPassword);
  }
  // Not verified here, verified there.
  await joinByShownLink(source, 'acme', 'other@people.test', attackersPassword);
  await createAccount(target.runtime.deps, { email: 'other@people.test', password });
  // Verified in both cells, with a second factor only here.
  await member('app@people.test');
  ({ secret: totp, recoveryCodes } = await enroll(await signedIn(source, 'app@people.test')));
  await createAccount(target.runtime.deps, { email: 'app@people.test', password: 'another password there' });
  before = await signedIn(target, 'app@people.test', 'another password there');
  // Only a passkey, which belongs to another host name.
  await member('elsewhere@people.test');
  await addPasskey(await signedIn(source, 'elsewhere@people.test'), origin);
  await runSql(
    source.database.url,
    `update passkeys set rp_id = 'cell1.example.com' where account_id = (select id from accounts where email = $1)`,
    ['elsewhere@people.test'],
  );
  result = await move(source, target);
}, 60_000);
afterAll(async () => {
  for (const cell of [source, target]) {
    await cell.stop();
    await cell.database.drop();
  }
});

describe('a move', () => {
  test('gives nothing to an account whose email was never verified: the owner signs in, and the planted password ends', async () => {
    const email = 'owner@people.test';
    await eventually(async () => expectProblem(await planted[email]!.ask({ path: '/api/session/' }), 401), 1_000);
    expectProblem(await attempt(email, attackersPassword), 401, 'session.refused');
    expect((await attempt(email)).body.code).toBe('session.second_factor');
    const browser = new Browser(target.address);
    expect((await signInWith(browser, passkey)).status).toBe(200);
    expect(await owns(browser)).toContain('acme');
    const { body } = await target.owner.ask({ path: `/api/o/evil/audit/?path=${email}` });
    const [entry] = body.filter((each: { action: string }) => each.action === 'verify email');
    expect(entry.after).toMatchObject({ proof: 'move', removed: { password: true, sessions: 1 } });
  });

  test('lets neither password open an account whose email is verified in neither cell', async () => {
    const email = 'unproved@people.test';
    await eventually(async () => expectProblem(await planted[email]!.ask({ path: '/api/session/' }), 401), 1_000);
    for (const secret of [password, attackersPassword]) {
      expectProblem(await attempt(email, secret), 401, 'session.refused');
    }
    await resetPassword(target.runtime.deps, email, 'set by the operator');
    const browser = await signedIn(target, email, 'set by the operator');
    expect(await owns(browser)).toContain('acme');
  });

  test('adds the membership to the account whose email is verified, and not the password of the other one', async () => {
    const email = 'other@people.test';
    expectProblem(await attempt(email, attackersPassword), 401, 'session.refused');
    expect(await owns(await signedIn(target, email))).toEqual(['acme']);
  });

  test('takes the second factors along to an account that has none, and ends its sessions', async () => {
    const email = 'app@people.test';
    await eventually(async () => expectProblem(await before.ask({ path: '/api/session/' }), 401), 1_000);
    expect((await attempt(email, 'another password there')).body.code).toBe('session.second_factor');
    const signIn = (code: string) =>
      new Browser(target.address).ask({
        method: 'POST',
        path: '/api/session/',
        body: { email, password: 'another password there', code },
      });
    expect((await signIn(codeOf(totp))).status).toBe(200);
    expect((await signIn(recoveryCodes[0]!)).status).toBe(200);
  });

  test('keeps the requirement of a passkey that belongs to another host name, and says who needs a recovery code', async () => {
    const { status, body } = await attempt('elsewhere@people.test');
    expect([status, body.second_factor.methods, body.second_factor.passkey]).toEqual([
      401,
      { totp: false, passkey: false, recovery_code: true },
      null,
    ]);
    expect(result.withoutPasskey).toEqual(['elsewhere@people.test']);
  });

  test('back leaves an account that is verified in neither cell as it was', { tags: ['sweep'] }, async () => {
    await forgetOrganization({ slug: 'acme', sourceUrl: source.database.url });
    expect(await owns(await signedIn(target, 'viewer@people.test'))).toEqual(['acme']);
    await move(target, source);
    expect(await owns(await signedIn(source, 'viewer@people.test'))).toEqual(['acme']);
  });
});
