/** Addresses are verified by codes: through the API, on the preference page, in the file and by an administrator. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { signPreferencesToken } from '../../src/core/message/recipient-links.ts';
import {
  applyConfiguration,
  exportConfiguration,
  planConfiguration,
} from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { testService } from '../support/database.ts';
import { type HttpPeer, openHttpPeer } from '../support/http-peer.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { runSql } from '../support/sql.ts';

let service: Service;
let ask: Ask;
let smtp: SmtpPeer;
let web: HttpPeer;

const sql = <Row extends object>(text: string, values: unknown[] = []) =>
  runSql<Row>(service.runtime.url, text, values);

function organizationOf(slug: string) {
  const account = { endpoint: web.url, account_sid: `AC${'0'.repeat(32)}`, auth_token: 'x', from: '+15555550199' };
  const mail = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'bell@acme.test', starttls: 'never' };
  return {
    slug,
    name: 'Acme',
    channels: [
      { slug: 'mail', name: 'Mail', type: 'email', providers: [mail] },
      { slug: 'text', name: 'Text', type: 'sms', providers: [{ use: 'twilio', ...account }] },
      { slug: 'call', name: 'Call', type: 'voice', providers: [{ use: 'twilio-voice', ...account }] },
      { slug: 'sand', name: 'Sand', type: 'telegram', providers: [{ use: 'sandbox' }] },
      { slug: 'room', name: 'Room', type: 'slack', providers: [{ use: 'slack-webhook', url: `${web.url}/T/B/c` }] },
    ],
    users: [
      {
        email: 'ann@x.test',
        addresses: [
          { name: 'sms', value: '+15555550101' },
          { name: 'voice', value: '+15555550102' },
          { name: 'telegram', value: '4711' },
          { name: 'slack', value: 'U123' },
          { name: 'webpush', value: '{"endpoint":"https://push.test/1"}' },
        ],
      },
      { email: 'bob@x.test', locale: 'de', addresses: [{ name: 'phone', value: '+15555550101' }] },
    ],
  };
}

beforeAll(async () => {
  [service, smtp, web] = await Promise.all([testService({ BELFRY_ROLE: 'api' }), openSmtpPeer(), openHttpPeer()]);
  web.reply = { status: 201, body: '{"sid":"SM1"}' };
  const { deps } = service.runtime;
  const organizations = ['acme', 'other'].map(organizationOf);
  await applyConfiguration(deps, { organizations }, { prune: false });
  ask = asker(service.address, (await createKey(deps, 'acme', { name: 'all', permissions: ['*'] })).key);
});
afterAll(async () => {
  await service.stop();
  await smtp.close();
  await web.close();
});
beforeEach(async () => {
  smtp.mails.length = 0;
  web.seen.length = 0;
  smtp.fault = undefined;
  await sql('truncate verification_codes');
  await sql(`update addresses set verified_at = null, disabled_at = null where name <> 'webpush'`);
});

interface Listed {
  id: number;
  name: string;
  verified_at: string | null;
}

async function find(user: string, name: string): Promise<Listed> {
  const { body } = await ask({ path: `/api/o/acme/u/${user}@x.test/addresses/` });
  return (body as Listed[]).find(address => address.name === name)!;
}

async function pathOf(user: string, name: string): Promise<string> {
  return `/api/o/acme/u/${user}@x.test/addresses/${(await find(user, name)).id}/`;
}

const post = (path: string, body?: object) => ask({ method: 'POST', path, body });
const send = async (user: string, name: string) => post(`${await pathOf(user, name)}verification/`);
const confirm = async (user: string, name: string, code: string) =>
  post(`${await pathOf(user, name)}verification/confirm/`, { code });
const codeIn = (text: string): string => /\b\d{6}\b/.exec(text)![0];
const textOf = ({ raw }: { raw: string }) => raw.slice(raw.indexOf('\r\n\r\n'));
const formOf = (index: number) => new URLSearchParams(web.seen[index]!.body.toString());
const otherThan = (code: string) => (code === '000000' ? '000001' : '000000');

/** Lets the pause between two codes of an address pass. */
const passPause = () => sql(`update verification_codes set created_at = created_at - interval '61 seconds'`);

describe('a code', () => {
  test('is sent by the channel of the address, and verifies the address once', async () => {
    const sent = await send('ann', 'email');
    expect(sent.body).toMatchObject({ channel: 'mail', text: null });
    expect(smtp.mails[0]!.to).toEqual(['ann@x.test']);
    const code = codeIn(textOf(smtp.mails[0]!));
    const [stored] = await sql<{ all: string }>('select c::text as all from verification_codes c');
    expect(stored!.all).not.toContain(code);
    expect(stored!.all).not.toContain('ann@x.test');
    const wrong = await confirm('ann', 'email', otherThan(code));
    expectProblem(wrong, 400, 'request.invalid', ['code']);
    expect(wrong.text).toContain('attempts left: 4');
    const confirmed = await confirm('ann', 'email', `${code.slice(0, 3)} ${code.slice(3)}`);
    expect(confirmed.body).toMatchObject({ name: 'email', verified_at: expect.any(String) });
    expectProblem(await confirm('ann', 'email', code), 409, 'verification.ended');
    expectProblem(await send('ann', 'email'), 409, 'verification.done');
    const audit = await sql<{ action: string; path: string; after: object }>(
      `select action, path, after from audit where noun = 'address' and path = 'ann@x.test/email' order by id desc limit 2`,
    );
    expect(audit).toEqual([
      { action: 'update', path: 'ann@x.test/email', after: { verified: true } },
      { action: 'verify', path: 'ann@x.test/email', after: { channel: 'mail', ok: true, detail: null } },
    ]);
  });

  test('is a short text message, and is read twice by a call', async () => {
    await send('bob', 'phone');
    const text = formOf(0).get('Body')!;
    expect(text).toBe(`${codeIn(text)} ist Ihr Code für Acme. Er gilt 15 Minuten.`);
    await send('ann', 'voice');
    const spoken = /<Say language="en-US">(.*)<\/Say>/.exec(formOf(1).get('Twiml')!)![1]!;
    const digits = spoken.match(/(?:\d\. ){5}\d/g)!;
    expect(spoken).toBe(`Your code for Acme is: ${digits[0]}. Again, your code is: ${digits[0]}.`);
    expect((await confirm('ann', 'voice', digits[0]!.replaceAll('. ', ''))).status).toBe(200);
  });

  test('of a sandbox is in the answer, as nothing is sent', async () => {
    const { text } = (await send('ann', 'telegram')).body as { text: string };
    expect((await confirm('ann', 'telegram', codeIn(text))).status).toBe(200);
  });

  test('is not valid for more than 15 minutes, nor after five attempts, nor when another one was sent', async () => {
    await send('ann', 'email');
    const first = codeIn(textOf(smtp.mails[0]!));
    await sql(`update verification_codes set expires_at = now()`);
    expectProblem(await confirm('ann', 'email', first), 409, 'verification.ended');
    await sql(`update verification_codes set expires_at = now() + interval '1 minute'`);
    await passPause();
    await send('ann', 'email');
    const second = codeIn(textOf(smtp.mails[1]!));
    if (first !== second) expect((await confirm('ann', 'email', first)).status).toBe(400);
    const attempts = Array.from({ length: 6 }, () => confirm('ann', 'email', otherThan(second)));
    const left = (await Promise.all(attempts)).filter(({ status }) => status === 400);
    expect(left.length).toBe(first === second ? 5 : 4);
    expectProblem(await confirm('ann', 'email', second), 409, 'verification.ended');
  });

  test('proves nothing about another address or value', async () => {
    const { text } = (await send('ann', 'telegram')).body as { text: string };
    await send('ann', 'email');
    const code = codeIn(text);
    if (code !== codeIn(textOf(smtp.mails[0]!))) expect((await confirm('ann', 'email', code)).status).toBe(400);
    await sql(`update addresses set value = '4712' where name = 'telegram'`);
    expect((await confirm('ann', 'telegram', code)).status).toBe(400);
    await sql(`update addresses set value = '4711' where name = 'telegram'`);
    expect((await confirm('ann', 'telegram', code)).status).toBe(200);
    await sql(`update addresses set value = '4712' where name = 'telegram'`);
    expect((await find('ann', 'telegram')).verified_at).toBeNull();
    await sql(`update addresses set value = '4711' where name = 'telegram'`);
  });

  test('has six digits', async () => {
    await send('ann', 'email');
    expectProblem(await confirm('ann', 'email', '12345'), 400, 'request.invalid', ['code']);
  });

  test('is not sent where no channel can, and the answer says so', async () => {
    const unreachable = await send('ann', 'slack');
    expectProblem(unreachable, 409, 'verification.unreachable');
    expect(unreachable.text).toContain('no channel of type slack');
    await sql(`update addresses set disabled_at = now() where name = 'email'`);
    expectProblem(await send('ann', 'email'), 409, 'verification.unreachable');
    await sql(`update users set locked = true where username = 'bob@x.test'`);
    expectProblem(await send('bob', 'email'), 409, 'verification.unreachable');
    await sql(`update users set locked = false where username = 'bob@x.test'`);
  });

  test('that could not be sent is not valid', async () => {
    smtp.fault = { rcpt: '550 5.1.1 no such user' };
    const failed = await send('ann', 'email');
    expectProblem(failed, 409, 'verification.failed');
    expect(failed.text).toContain('no such user');
    expect(await sql('select code_hash from verification_codes')).toEqual([{ code_hash: null }]);
  });

  test('of another organization is not reachable', async () => {
    const [foreign] = await sql<{ id: string }>(
      `select a.id from addresses a join organizations o on o.id = a.organization_id where o.slug = 'other' and a.name = 'email' limit 1`,
    );
    for (const organization of ['acme', 'other']) {
      const path = `/api/o/${organization}/u/ann@x.test/addresses/${foreign!.id}/verification/`;
      expect((await post(path)).status).toBe(404);
      expect((await post(`${path}confirm/`, { code: '123456' })).status).toBe(404);
    }
  });
});

describe('codes', () => {
  const limited = async (user: string, name: string) => {
    const answer = await send(user, name);
    expectProblem(answer, 429, 'verification.limited');
    return Number(answer.headers['retry-after']);
  };

  test('to the same value have a pause of a minute, also for several users', async () => {
    const [first, second] = await Promise.all([send('ann', 'sms'), send('bob', 'phone')]);
    expect([first.status, second.status].sort()).toEqual([200, 429]);
    expect(await limited('bob', 'phone')).toBeGreaterThan(30);
    await passPause();
    expect((await send('bob', 'phone')).status).toBe(200);
  });

  test.each([
    ['value and day', 10, 'sent_to', '23 hours'],
    ['user and day', 30, 'user_id', '23 hours'],
    ['organization and hour', 300, 'organization_id', '50 minutes'],
  ] as const)('are limited per %s', async (_what, max, column, age) => {
    await send('ann', 'email');
    const sent_to = column === 'sent_to' ? column : 'i::text';
    const user_id = column === 'user_id' ? column : '-i';
    await sql(`insert into verification_codes (organization_id, user_id, address_id, sent_to, attempts_left, expires_at, created_at)
      select organization_id, ${user_id}, 0, ${sent_to}, 5, now(), now() - interval '${age}'
      from verification_codes, generate_series(2, ${max - 1}) i`);
    await passPause();
    expect((await send('ann', 'email')).status).toBe(200);
    await passPause();
    expect(await limited('ann', 'email')).toBeGreaterThan(300);
    await sql(`update verification_codes set created_at = created_at - interval '62 minutes'`);
    expect((await send('ann', 'email')).status).toBe(200);
  });

  test('are deleted after a day', async () => {
    await send('ann', 'email');
    await sql(`update verification_codes set created_at = now() - interval '25 hours'`);
    await runMaintenance(service.runtime.deps, Date.now());
    expect(await sql('select from verification_codes')).toEqual([]);
  });
});

test('an administrator marks an address as verified, which is audited', async () => {
  const path = await pathOf('ann', 'slack');
  const patch = (body: object) => ask({ method: 'PATCH', path, body });
  expect((await patch({ verified: true })).body).toMatchObject({ verified_at: expect.any(String) });
  expect((await patch({ verified: false })).body).toMatchObject({ verified_at: null, disabled_at: null });
  expectProblem(await patch({}), 400);
  const entries = await sql<{ after: object }>(
    `select after from audit where path = 'ann@x.test/slack' order by id desc limit 2`,
  );
  expect(entries).toEqual([{ after: { verified: false } }, { after: { verified: true } }]);
});

test('a device is verified when it is registered, a topic that someone entered is not', async () => {
  expect((await find('ann', 'webpush')).verified_at).not.toBeNull();
  const added = await sql<{ verified_at: Date | null }>(
    `insert into addresses (organization_id, user_id, name, value)
     select organization_id, id, 'push', 'alerts-of-ann' from users where username = 'ann@x.test' limit 1 returning verified_at`,
  );
  expect(added).toEqual([{ verified_at: null }]);
});

test('a file says which addresses are verified, and what it does not say stays', async () => {
  const { deps } = service.runtime;
  const own = { name: 'email', value: 'cem@x.test' };
  const phone = { name: 'sms', value: '+15555550109' };
  const documentOf = (addresses: object[]) =>
    ({ organizations: [{ slug: 'filed', name: 'Filed', users: [{ email: 'cem@x.test', addresses }] }] }) as never;
  const apply = async (...addresses: object[]) => {
    const changes = await applyConfiguration(deps, documentOf(addresses), { prune: true });
    return changes.map(({ action, noun, path }) => `${action} ${noun} ${path}`);
  };
  const exported = async () => {
    const { organizations } = await exportConfiguration(deps, ['filed']);
    return organizations[0]!.users![0]!.addresses;
  };
  await apply({ ...phone, verified: true });
  expect(await exported()).toEqual([{ ...phone, verified: true }]);
  const spelled = { ...own, value: 'Cem@X.test', verified: true };
  expect(await apply(spelled, phone)).toEqual(['update address filed/cem@x.test/email/cem@x.test']);
  const both = [
    { ...own, verified: true },
    { ...phone, verified: true },
  ];
  expect(await exported()).toEqual(both);
  expect(await planConfiguration(deps, documentOf(both), { prune: true })).toEqual([]);
  expect(await planConfiguration(deps, documentOf([phone]), { prune: true })).toEqual([]);
  expect(await apply({ ...own, verified: false }, { ...phone, verified: false })).toHaveLength(2);
  expect(await exported()).toEqual([phone]);
});

describe('the preference page', () => {
  async function pageOf(user: string) {
    const [holder] = await sql<{ organizationId: number; userId: number }>(
      `select organization_id::int as "organizationId", id::int as "userId" from users where username = $1 order by id limit 1`,
      [`${user}@x.test`],
    );
    const { sign } = service.runtime.deps.signer;
    return `/preferences/${signPreferencesToken({ ...holder!, generation: 0 }, sign)}`;
  }
  const submit = async (path: string, form: Record<string, string | number>) => {
    const body = new URLSearchParams(
      Object.entries(form).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status, headers: answered } = await ask({ method: 'POST', path, body, headers, key: undefined });
    expect(status).toBe(303);
    return new URL(answered.location!, service.address).search;
  };

  test('verifies an address without scripts', async () => {
    const path = await pageOf('ann');
    const before = (await ask({ path })).text;
    expect(before.match(/Send code/g)).toHaveLength(8);
    expect(before).not.toContain('one-time-code');
    expect(before).toContain('Acme cannot send a code to it at the moment.');
    const { id: address } = await find('ann', 'email');
    expect(await submit(path, { action: 'verify', address })).toBe('?code=sent');
    const code = codeIn(textOf(smtp.mails[0]!));
    const awaiting = (await ask({ path: `${path}?code=sent` })).text;
    expect(awaiting).toContain('We sent you a code.');
    expect(awaiting.match(/one-time-code/g)).toHaveLength(1);
    expect(await submit(path, { action: 'verify', address, code: otherThan(code) })).toBe('?code=wrong');
    expect(await submit(path, { action: 'verify', address })).toBe('?code=limited');
    expect(await submit(path, { action: 'verify', address, code })).toBe('?code=verified');
    expect((await ask({ path })).text).toContain('Email: a••••@x•••.test <b class="verified">Verified</b>');
    const [entry] = await sql(
      `select actor_kind, actor_name from audit where path = 'ann@x.test/email' order by id desc limit 1`,
    );
    expect(entry).toEqual({ actor_kind: 'visitor', actor_name: 'ann@x.test' });
  });

  test('sends nothing to addresses of others, and is in the language of the user', async () => {
    const { id: address } = await find('ann', 'email');
    const path = await pageOf('bob');
    expect(await submit(path, { action: 'verify', address })).toBe('?code=failed');
    expect(await submit(path, { action: 'verify', address, code: '123456' })).toBe('?code=ended');
    expect(await submit(path, { action: 'verify', address: 'x' })).toBe('?code=failed');
    expect(smtp.mails).toEqual([]);
    expect((await ask({ path: `${path}?code=failed` })).text).toContain('Der Code konnte nicht geschickt werden.');
  });
});
