/** Mails to members who decide about what a guard holds, by a real SMTP server. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Role } from '../../src/core/identity/roles.ts';
import { pauseForRate } from '../../src/db/history/stats/trigger-rates.ts';
import { setRole } from '../../src/db/identity/memberships.ts';
import { GuardMails } from '../../src/services/identity/guard-mails.ts';
import { newAccount } from '../support/accounts.ts';
import { alert, group, openSource } from '../support/alert-source.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant, type TenantInput } from '../support/sink.ts';
import { type Mail, openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

let world: EngineWorld;
let smtp: SmtpPeer;
/** Processes that send, besides the loop of the service. */
let processes: GuardMails[];

beforeAll(async () => {
  smtp = await openSmtpPeer({ starttls: false });
  world = await openWorld({
    BASE_URL: 'https://belfry.acme.test',
    BELFRY_MAIL_URL: `smtp://localhost:${smtp.port}?from=Belfry%20<no-reply@acme.test>`,
  });
  const { deps } = world.service.runtime;
  const options = { isPaused: () => false, baseUrl: 'https://belfry.acme.test' };
  const log = { warn: () => {}, error: () => {} } as never;
  processes = [1, 2, 3].map(() => new GuardMails({ ...deps, mailer: deps.mailer! }, log, options));
});
afterAll(async () => {
  await world.close();
  await smtp.close();
});
beforeEach(() => {
  smtp.mails.length = 0;
  smtp.fault = undefined;
});

const users = ['ann', 'ben', 'cid', 'dan'].map(name => `${name}@x.test`);
const few: TenantInput = { users, event: { guard: { audience: 3 } } };

async function addMember(tenant: Tenant, role: Role) {
  const account = await newAccount(world.service.runtime.deps);
  await tenant.sql(
    'insert into memberships (organization_id, account_id, role) values ($1, $2, $3)',
    tenant.id,
    account.id,
    role,
  );
  return account;
}

const holdPath = ({ slug }: Tenant, id: string) => `/api/o/${slug}/occurrence/${id}/hold/`;

async function triggerHeld(tenant: Tenant) {
  const id = await tenant.trigger();
  await eventually(async () => {
    expect((await tenant.ask({ path: holdPath(tenant, id) })).body).toMatchObject({ state: 'held' });
  }, 8_000);
  return id;
}

/** Sends in several processes at once. Returns what has arrived for the account, or for all accounts. */
async function send(account?: { email: string }): Promise<Mail[]> {
  await Promise.all(processes.map(process => process.send()));
  return smtp.mails.filter(({ to }) => !account || to.includes(account.email));
}

/** Waits for a mail that a process may be sending. */
const mailed = (account: { email: string }, count = 1) =>
  eventually(async () => {
    const mails = await send(account);
    expect(mails).toHaveLength(count);
    return mails.at(-1)!;
  });

/** Returns the plain text, in which quoted-printable breaks lines and writes bytes. */
const textOf = ({ raw }: Mail) => {
  const plain = raw.slice(raw.indexOf('text/plain'), raw.indexOf('text/html'));
  const bytes = plain
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
};

const dueNow = (tenant: Tenant) =>
  tenant.sql('update guard_mails set due_at = now() where organization_id = $1 and due_at is not null', tenant.id);

test('members who may approve are mailed once about a held occurrence, with what it would send and links to decide', async () => {
  const tenant = await world.tenant(few);
  const [editor, admin, owner] = [
    await addMember(tenant, 'editor'),
    await addMember(tenant, 'admin'),
    await addMember(tenant, 'owner'),
  ];
  const id = await triggerHeld(tenant);
  const mail = await mailed(admin);
  await mailed(owner);
  expect(mail.headers.subject).toBe('Approve or reject: shop/web/go to 4 recipients');
  const text = textOf(mail);
  const page = `https://belfry.acme.test/o/${tenant.slug}/occurrences/${id}`;
  for (const part of [
    'Nothing has been sent: it has more recipients than the event may have without an approval',
    '4 recipients; up to 3 need no approval. It was not sent in the last 90 days.',
    'hooks: 4 messages, as fast as possible.',
    'Triggered by API key test.',
    'If no one approves it until 20',
    `${page}?decide=approve`,
    `${page}?decide=reject`,
  ]) {
    expect(text).toContain(part);
  }
  expect(await send()).toHaveLength(2);
  expect(await send(editor)).toEqual([]);
});

test('a burst shares a mail, which leaves out what was decided meanwhile', { tags: ['sweep'] }, async () => {
  const tenant = await world.tenant(few);
  const admin = await addMember(tenant, 'admin');
  await triggerHeld(tenant);
  await mailed(admin);
  const decided = await triggerHeld(tenant);
  await Promise.all(Array.from({ length: 11 }, () => triggerHeld(tenant)));
  await tenant.post(`${holdPath(tenant, decided)}reject/`, {});
  // At most one mail within five minutes.
  expect(await send(admin)).toHaveLength(1);
  await dueNow(tenant);
  const mail = await mailed(admin, 2);
  expect(mail.headers.subject).toMatch(/: 11 occurrences wait for an approval, or were not approved in time$/);
  const text = textOf(mail);
  expect(text.split('decide=approve')).toHaveLength(9 + 1);
  expect(text).not.toContain(decided);
  expect(text).toContain('There are 2 more');
  // The next one waits for five minutes again, and is not mailed if it was decided by then.
  const late = await triggerHeld(tenant);
  await tenant.post(`${holdPath(tenant, late)}approve/`, {});
  await dueNow(tenant);
  expect(await send(admin)).toHaveLength(2);
});

test('what no one has approved in time is mailed, logged and fails', async () => {
  const hook = `${world.peer.url}/expired/hook`;
  const webhooks = [{ slug: 'ops', name: 'Ops', url: hook, types: ['occurrence.completed'] }];
  const tenant = await world.tenant({ ...few, organization: { webhooks } });
  const admin = await addMember(tenant, 'admin');
  const id = await triggerHeld(tenant);
  await mailed(admin);
  await tenant.sql(`update holds set expires_at = now() where organization_id = $1`, tenant.id);
  await tenant.sql(`notify belfry_stop, '${tenant.id} ${id}'`);
  await eventually(async () => expect(await tenant.occurrence(id)).toMatchObject({ outcome: 'failed' }), 12_000);
  await dueNow(tenant);
  const mail = await mailed(admin, 2);
  expect(mail.headers.subject).toBe('Not approved in time: shop/web/go');
  expect(textOf(mail)).toContain('No one approved it in time, so it has failed. Nothing was sent.');
  const events = await tenant.sql('select data from webhook_messages where organization_id = $1', tenant.id);
  expect(events).toMatchObject([{ data: { occurrence: id, outcome: 'failed', reason: 'guard.expired' } }]);
});

test('a mail that could not be sent is sent later, and one whose process has ended is sent by another', async () => {
  const tenant = await world.tenant(few);
  const admin = await addMember(tenant, 'admin');
  smtp.fault = { data: '451 try later' };
  await triggerHeld(tenant);
  const failed = () =>
    tenant.sql('select from guard_mails where attempts = 1 and due_at > now() and organization_id = $1', tenant.id);
  await eventually(async () => {
    await send();
    expect(await failed()).toHaveLength(1);
  });
  smtp.fault = undefined;
  expect(await send(admin)).toEqual([]);
  await dueNow(tenant);
  await mailed(admin);
  // What was claimed, and not settled.
  await tenant.sql(
    `update guard_mails set due_at = now() - interval '1 s', claimed = jsonb_build_object('count', 1, 'items', jsonb_build_array(
       jsonb_build_object('kind', 'rate', 'noun', 'event', 'path', 'a/b/c', 'reason', 'too many', 'urgent', true)))
     where organization_id = $1`,
    tenant.id,
  );
  expect((await mailed(admin, 2)).headers.subject).toBe('Paused by the rate guard: event a/b/c');
});

test('owners are mailed when the rate guard pauses something, and members who are no longer owners are not', async () => {
  const tenant = await world.tenant(few);
  const [admin, owner, former] = [
    await addMember(tenant, 'admin'),
    await addMember(tenant, 'owner'),
    await addMember(tenant, 'owner'),
  ];
  const { db } = world.service.runtime.deps;
  const pause = {
    cause: 'guard.rate_all',
    reason: '6 urgent triggers in a minute, and 5 are allowed',
    triggers: 6,
    limit: 5,
    path: null,
  } as const;
  await db.transaction().execute(async trx => {
    await pauseForRate(trx, tenant.id, { kind: 'key', id: tenant.keyId }, pause);
    await setRole(trx, tenant.id, former.id, 'viewer');
  });
  const mail = await mailed(owner);
  expect(mail.headers.subject).toBe('Paused by the rate guard: API key test');
  const text = textOf(mail);
  expect(text).toContain('Everything it triggers is held, urgent messages too');
  expect(text).toContain('6 urgent triggers in a minute, and 5 are allowed.');
  expect(text).toContain(`https://belfry.acme.test/o/${tenant.slug}`);
  expect([await send(admin), await send(former)]).toEqual([[], []]);
});

test('who may change sources is mailed when one rejects alerts, with the error and a link to its payloads', async () => {
  const { tenant, post } = await openSource(world);
  const [editor, admin] = [await addMember(tenant, 'editor'), await addMember(tenant, 'admin')];
  await post(group(alert('a'), { status: 'odd', labels: { a: 'b' } }));
  await post(group({ status: 'odd', labels: { a: 'b' } }));
  const mail = await mailed(admin);
  expect(mail.headers.subject).toBe('Alerts are rejected by the source shop/web/prom');
  const text = textOf(mail);
  for (const part of [
    'Some alerts of a payload were rejected, and triggered nothing. The others were taken.',
    'has a status other than firing and resolved.',
    `https://belfry.acme.test/o/${tenant.slug}/sources/shop/web/prom`,
    'because you may change sources',
  ]) {
    expect(text).toContain(part);
  }
  await dueNow(tenant);
  expect(await send(admin)).toHaveLength(1);
  expect(await send(editor)).toEqual([]);
});
