/** Alerts by mail: to the address of a source, at the listener of a running service. */
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMailAddress } from '../../src/core/sources/mail-address.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { mailLimits } from '../../src/providers/feedback/mail-limits.ts';
import { base, occurrencesOf, openSource } from '../support/alert-source.ts';
import { hostileMail } from '../support/hostile-mail.ts';
import { type EngineWorld, openWorld } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await openWorld({ BELFRY_SMTP_IN: '127.0.0.1:0' });
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

interface Mail {
  subject?: string;
  text?: string;
  html?: string;
  messageId?: string;
  references?: string;
  headers?: Record<string, string>;
  raw?: string | Buffer;
}

async function openMailSource(fields: Record<string, unknown> = {}) {
  const opened = await openSource(world, { ...base, slug: 'mails', use: 'email', ...fields });
  const { tenant, source } = opened;
  const addressOf = async () => {
    const setup = (await tenant.ask({ path: `${source}setup/` })).body as { name: string; text: string }[];
    return setup.find(({ name }) => name === 'email')!.text;
  };
  const address = fields.use === undefined ? await addressOf() : '';
  const transport = () => createTransport({ host: 'localhost', port: world.service.mailPort!, ignoreTLS: true });
  const deliver = (mail: Mail, to: string | string[] = address) =>
    transport().sendMail({ from: 'Nagios <nagios@acme.test>', ...mail, envelope: { from: 'nagios@acme.test', to } });
  const payloads = async () =>
    (await tenant.ask({ path: `${source}payloads/` })).body as { id: string; state: string }[];
  const outcomes = async () => {
    const found = [];
    for (const { id } of await payloads()) found.push((await opened.payload(id)).alerts[0]?.outcome);
    return found;
  };
  return { ...opened, address, addressOf, deliver, payloads, outcomes };
}

const contexts = (tenant: Awaited<ReturnType<typeof openMailSource>>['tenant']) =>
  tenant.sql<{ context: Record<string, unknown> }>(
    `select context from occurrences where organization_id = ${tenant.id} order by id`,
  );

test('a mail opens an occurrence with its subject as the title and its text as the details', async () => {
  const { tenant, deliver, address } = await openMailSource();
  expect(address).toMatch(/^s-[0-9a-z-]+@/);
  expect(address.indexOf('@')).toBeLessThanOrEqual(64);
  const text = 'sda ist bei 98 %.\nBitte räumen.';
  await deliver({ subject: 'Backup von db1 – Größe', text, messageId: '<1@acme.test>' }, address.toUpperCase());
  const [{ context } = { context: {} }] = await contexts(tenant);
  expect(context).toMatchObject({
    ...{ title: 'Backup von db1 – Größe', text, state: 'open', key: '<1@acme.test>', source: 'mails' },
    from: 'Nagios <nagios@acme.test>',
  });
});

test('a mail that says that it is over resolves the one about the same, and a repetition of a mail is counted once', async () => {
  const { tenant, deliver, outcomes } = await openMailSource();
  await deliver({ subject: 'PROBLEM: disk of db1', messageId: '<1@acme.test>' });
  await deliver({ subject: 'PROBLEM: disk of db1', messageId: '<1@acme.test>' });
  await deliver({ subject: 'PROBLEM: disk of db2', messageId: '<2@acme.test>' });
  await deliver({ subject: 'RECOVERY: Disk of db1', messageId: '<3@acme.test>' });
  await deliver({ subject: 'RECOVERY: disk of db3', messageId: '<4@acme.test>' });
  const states = (await occurrencesOf(tenant)).map(({ resolved }) => resolved);
  expect(states.sort()).toEqual([false, true]);
  expect((await outcomes()).toReversed()).toEqual(['opened', 'repeated', 'opened', 'resolved', 'unknown']);
});

test('a conversation is one alert, and mails without a state are one each', async () => {
  const { tenant, deliver } = await openMailSource();
  await deliver({ subject: 'Cron failed again', messageId: '<1@acme.test>' });
  await deliver({ subject: 'Cron failed again', messageId: '<2@acme.test>' });
  await deliver({
    subject: 'Re: Cron failed again',
    messageId: '<3@acme.test>',
    references: '<1@acme.test> <x@acme.test>',
  });
  expect(await occurrencesOf(tenant)).toMatchObject([
    { dedup_key: 'mails/<1@acme.test>' },
    { dedup_key: 'mails/<2@acme.test>' },
  ]);
});

test('a mapping reads what the subject and the text say', async () => {
  const mapping = { key: 'topic', severity: "contains(text, 'urgent') && 'critical' || 'info'" };
  const { tenant, deliver } = await openMailSource({ mapping });
  await deliver({ subject: 'Job failed', text: 'urgent', messageId: '<1@acme.test>' });
  await deliver({ subject: 'Job failed', text: 'urgent', messageId: '<2@acme.test>' });
  const [{ context } = { context: {} }, ...others] = await contexts(tenant);
  expect([context.severity, others.length]).toEqual(['critical', 0]);
});

test('an answering machine, a report and a message of Belfry itself open nothing', async () => {
  const { tenant, deliver, outcomes } = await openMailSource();
  await deliver({ subject: 'Away', headers: { 'Auto-Submitted': 'auto-replied' } });
  await deliver({ raw: 'Subject: Undelivered\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b--\r\n' });
  await deliver({ subject: 'Disk', messageId: '<019a8a5d-ac96-774b-bcce-b302099a8057.12@acme.test>' });
  expect(await outcomes()).toEqual(['ignored', 'ignored', 'ignored']);
  expect(await occurrencesOf(tenant)).toEqual([]);
});

test('a rotated, a forged and a foreign address are refused, and more than one source at a time', async () => {
  const { tenant, address, addressOf, deliver, source } = await openMailSource();
  const [local = '', domain = ''] = address.split('@');
  const forged = `${local.slice(0, -1)}${local.endsWith('0') ? '1' : '0'}@${domain}`;
  for (const to of [forged, `ada@${domain}`])
    await expect(deliver({ subject: 'x' }, to)).rejects.toMatchObject({ responseCode: 550 });
  const other = await openMailSource();
  const { accepted, rejected } = await deliver({ subject: 'both' }, [address, other.address]);
  expect([accepted, rejected]).toEqual([[address], [other.address]]);
  await tenant.ask({ method: 'POST', path: `${source}rotate/` });
  await expect(deliver({ subject: 'x' })).rejects.toMatchObject({ responseCode: 550 });
  await deliver({ subject: 'new' }, await addressOf());
  expect((await occurrencesOf(tenant)).length).toBe(2);
});

test('a source with a secret refuses mails and keeps them, and one with another preset says why it cannot read them', async () => {
  const secret = await openMailSource();
  await secret.tenant.ask({ method: 'PATCH', path: secret.source, body: { secret: 'sesame' } });
  await expect(secret.deliver({ subject: 'x' })).rejects.toMatchObject({ responseCode: 550 });
  const wrong = await openMailSource();
  await wrong.tenant.ask({ method: 'PATCH', path: wrong.source, body: { use: 'alertmanager' } });
  await expect(wrong.deliver({ subject: 'x' })).rejects.toMatchObject({
    responseCode: 554,
    response: expect.stringContaining('has no list of alerts'),
  });
  for (const { payloads, tenant } of [secret, wrong]) {
    expect(await payloads()).toMatchObject([{ state: 'refused' }]);
    expect(await occurrencesOf(tenant)).toEqual([]);
  }
});

test('a hostile mail is taken within a second, what is kept is small, and one that is too large is refused', {
  tags: ['sweep'],
}, async () => {
  const { tenant, deliver, payload, payloads } = await openMailSource();
  const begun = performance.now();
  await deliver({ raw: hostileMail });
  expect(performance.now() - begun).toBeLessThan(5_000);
  await deliver({
    subject: 'x'.repeat(100_000),
    html: `<p>${'<b>'.repeat(200_000)}bold &amp; loud</p>`,
    messageId: '<9@a.test>',
  });
  const kept = await payload((await payloads())[0]!.id);
  expect(kept.bytes).toBeLessThan(64 * 1024);
  const large = `Subject: x\r\n\r\n${`${'x'.repeat(900)}\r\n`.repeat(mailLimits.maxBytes / 900)}`;
  await expect(deliver({ raw: large })).rejects.toMatchObject({ responseCode: 552 });
  expect(await occurrencesOf(tenant)).toHaveLength(2);
});

test('an address is read in any case, and only with its signature', () => {
  const { isSignedShort } = createSigner('another secret of at least 32 characters');
  expect(readMailAddress('s-1-2-0123456789-0123456789abcdef@x.test', isSignedShort)).toBeUndefined();
});
