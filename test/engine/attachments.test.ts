/** Files of a message: uploaded or fetched, stored once, sent with every message, and deleted with the occurrence. */
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { attachmentLimits } from '../../src/core/message/attachments.ts';
import type { Content } from '../../src/core/render/render.ts';
import { nameFiles } from '../../src/engine/attachments/names.ts';
import { deleteOldAttachments } from '../../src/services/history/attachments.ts';
import { expectProblem } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { fairNow } from '../support/fair-clock.ts';
import { openHttpPeer, type Reply } from '../support/http-peer.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

let world: EngineWorld;
let smtp: SmtpPeer;

beforeAll(async () => {
  [world, smtp] = await Promise.all([joinWorld(), openSmtpPeer({ starttls: false })]);
});
afterAll(async () => {
  await world.close();
  await smtp.close();
});

const pdf = Buffer.from(`%PDF-1.7\n${'.\r\n.. no line of this is the end\r\n.\r\n'.repeat(3_000)}`);
const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(500, 7)]);

const mailChannel = () => ({
  slug: 'mail',
  name: 'Mail',
  type: 'email',
  providers: [{ use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'Acme <a@acme.test>' }],
});

function mailTenant(input: TenantInput = {}): Promise<Tenant> {
  return world.tenant({
    users: ['ann@x.test', 'bob@x.test'],
    channels: [mailChannel()],
    notifications: [{ channels: ['mail'] }],
    ...input,
  });
}

const upload = (tenant: Tenant, name: string, type: string, body: Buffer) =>
  tenant.ask({
    method: 'POST',
    path: `${tenant.application}attachments/?name=${encodeURIComponent(name)}`,
    headers: { 'content-type': type },
    body,
  });

const uploadPdf = async (tenant: Tenant, name = 'Invoice.pdf'): Promise<string> => {
  const answer = await upload(tenant, name, 'application/pdf', pdf);
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id;
};

const refusal = async (tenant: Tenant, attachments: unknown) => {
  const body = { options: { attachments } };
  const answer = await tenant.ask({ method: 'POST', path: `${tenant.event}trigger/`, body });
  expect(answer.status, answer.text).toBe(400);
  return answer.body.errors;
};

const mailsFor = (tenant: Tenant, subject: string) =>
  smtp.mails.filter(({ raw }) => raw.includes(`${subject} ${tenant.slug}`));

/** Returns the decoded content of the MIME part with these words in its headers. */
function partOf(raw: string, words: string): Buffer {
  const start = raw.indexOf(words);
  expect(start, `${words} in the mail`).toBeGreaterThan(0);
  const body = raw.slice(raw.indexOf('\r\n\r\n', start) + 4);
  return Buffer.from(body.slice(0, body.indexOf('\r\n--')), 'base64');
}

const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');

describe('uploads', () => {
  afterEach(() => world.checkLedger());

  test('an uploaded file arrives unchanged with every email, and is stored once', async () => {
    const tenant = await mailTenant({
      notifications: [{ channels: ['mail'], message: { subject: 'Upload {{ organization.slug }}', body: 'Hello' } }],
    });
    const id = await uploadPdf(tenant, '../Rechnung für „März".pdf');
    const occurrence = await tenant.trigger({ attachments: [{ id }] });
    expect(await tenant.outcomes(occurrence)).toEqual(['ann@x.test sent', 'bob@x.test sent']);
    const mails = mailsFor(tenant, 'Upload');
    expect(mails).toHaveLength(2);
    for (const { raw } of mails) {
      expect(hashOf(partOf(raw, 'Content-Disposition: attachment'))).toBe(hashOf(pdf));
      expect(raw.includes("filename*0*=utf-8''Rechnung%20f%C3%BCr")).toBe(true);
    }
    const stored = await tenant.sql('select name, expires_at from attachments where organization_id = $1', tenant.id);
    expect(stored).toEqual([{ name: 'Rechnung für „März.pdf', expires_at: null }]);

    const path = `/api/o/${tenant.slug}/occurrence/${occurrence}/attachments/`;
    const facts = {
      id,
      name: 'Rechnung für „März.pdf',
      content_type: 'application/pdf',
      bytes: pdf.length,
      source: id,
    };
    expect((await tenant.ask({ path })).body).toEqual([facts]);
    const download = await tenant.ask({ path: `${path}${id}/` });
    expect(download.headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-security-policy': expect.stringContaining('sandbox'),
    });
    expect(hashOf(Buffer.from(download.text))).toBe(hashOf(pdf));
  });

  test('an image with a content_id is part of the body, beside other files', async () => {
    const tenant = await mailTenant({
      users: ['ann@x.test'],
      notifications: [
        { channels: ['mail'], message: { subject: 'Inline {{ organization.slug }}', body: '![Logo](cid:logo)' } },
      ],
    });
    const { body } = await upload(tenant, 'logo.png', 'image/png', png);
    const attachments = [{ id: await uploadPdf(tenant) }, { id: body.id, content_id: 'logo', name: 'other.png' }];
    await tenant.outcomes(await tenant.trigger({ attachments }));
    const [mail] = mailsFor(tenant, 'Inline');
    const types = [...mail!.raw.matchAll(/^Content-Type: ([\w/]+)/gm)].map(([, type]) => type);
    expect(types).toEqual([
      'multipart/mixed',
      'multipart/related',
      'multipart/alternative',
      'text/plain',
      'text/html',
      'image/png',
      'application/pdf',
    ]);
    expect(mail!.raw.includes('src="cid:logo"')).toBe(true);
    expect(hashOf(partOf(mail!.raw, 'Content-Type: image/png; name="other.png"'))).toBe(hashOf(png));
    expect(mail!.raw.includes('Content-ID: <logo>')).toBe(true);
  });

  test('errors name the field and say what to do', async () => {
    const tenant = await mailTenant();
    const other = await mailTenant();
    const foreign = await uploadPdf(other);
    const expired = await uploadPdf(tenant);
    await tenant.sql('update attachments set expires_at = now() where id = $1', expired);
    const missing = [expect.stringContaining('upload the file again')];
    expect(await refusal(tenant, [{ id: foreign }])).toEqual({ 'options/attachments/0/id': missing });
    expect(await refusal(tenant, [{ id: expired }])).toEqual({ 'options/attachments/0/id': missing });
    expect(await refusal(tenant, [{ name: 'x' }])).toEqual({ 'options/attachments/0': ['use either id or url'] });
    expect(await refusal(tenant, [{ url: 'ftp://x.test/a' }])).toHaveProperty(['options/attachments/0/url']);
    expect(await refusal(tenant, Array(11).fill({ id: foreign }))).toHaveProperty(['options/attachments']);
    const big = Buffer.concat([pdf, Buffer.alloc(6 * 1024 * 1024)]);
    const [first, second] = [
      await upload(tenant, 'a.pdf', 'application/pdf', big),
      await upload(tenant, 'b.pdf', 'application/pdf', big),
    ];
    expect(await refusal(tenant, [{ id: first.body.id }, { id: second.body.id }])).toEqual({
      'options/attachments': [expect.stringContaining('at most 10 MiB')],
    });
    // Nothing of a refused trigger is left.
    expect(await tenant.sql('select from occurrence_attachments where organization_id = $1', tenant.id)).toEqual([]);
    const refused = async (name: string, type: string, body: Buffer) =>
      (await upload(tenant, name, type, body)).body.errors;
    expect(await refused('a.exe', 'application/octet-stream', png)).toEqual({
      body: [expect.stringContaining('.exe')],
    });
    expect(await refused('a', 'image/png', Buffer.from('MZ'))).toEqual({ body: [expect.stringContaining('programs')] });
    expect(await refused('a.png', 'image/png', pdf)).toEqual({ body: [expect.stringContaining('image/png')] });
    expect(await refused('../..', 'image/png', png)).toEqual({ name: ['is not a file name'] });
    expect((await upload(tenant, 'a.pdf', 'application/pdf', Buffer.alloc(11 * 1024 * 1024))).status).toBe(413);
  });

  test('a repeated trigger uses no second copy, and its upload can still be used', async () => {
    const tenant = await mailTenant();
    const id = await uploadPdf(tenant);
    const options = { attachments: [{ id }], idempotency_key: 'once' };
    expect(await tenant.trigger(options)).toBe(await tenant.trigger(options));
    const links = await tenant.sql('select from occurrence_attachments where organization_id = $1', tenant.id);
    expect(links).toHaveLength(1);
    await tenant.outcomes(await tenant.trigger({ attachments: [{ id }] }));
  });
});

describe('files with a URL', () => {
  afterEach(() => world.checkLedger());

  async function openFiles(reply: Reply | (() => Reply)) {
    const peer = await openHttpPeer(typeof reply === 'function' ? () => reply() : reply);
    onTestFinished(() => peer.close());
    return peer;
  }
  const file = { headers: { 'content-type': 'text/csv; charset=utf-8' }, body: 'a;b\r\n1;2\r\n' };

  test('a file is fetched once for all recipients', async () => {
    const peer = await openFiles(file);
    const tenant = await mailTenant({
      notifications: [{ channels: ['mail'], message: { subject: 'Fetched {{ organization.slug }}', body: 'Hello' } }],
    });
    const attachments = [{ url: `${peer.url}/reports/week%201.csv?signature=hush` }];
    const id = await tenant.trigger({ attachments });
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test sent', 'bob@x.test sent']);
    expect(peer.seen).toHaveLength(1);
    for (const { raw } of mailsFor(tenant, 'Fetched')) {
      expect(partOf(raw, 'Content-Type: text/csv; name="week 1.csv"').toString()).toBe(file.body);
    }
  });

  test('a template names files from the context, once with those of the trigger, and none if it is empty', async () => {
    const peer = await openFiles(file);
    const message = {
      subject: 'Template {{ organization.slug }}',
      body: 'Hello',
      attachments: [
        { url: `${peer.url}/{{ number }}.csv`, name: 'Invoice {{ number }}.csv' },
        { url: '{{ terms }}', name: 'Terms{{ ending }}' },
      ],
    };
    const tenant = await mailTenant({ notifications: [{ channels: ['mail'], message }] });
    const attachments = [{ url: `${peer.url}/a%2Fb.csv`, name: 'own.csv' }];
    const first = await tenant.trigger({ attachments }, { number: 'c d' });
    expect(await tenant.outcomes(first)).toEqual(['ann@x.test sent', 'bob@x.test sent']);
    expect(peer.seen.map(({ path }) => path).sort()).toEqual(['/a%2Fb.csv', '/c%20d.csv']);
    const [mail] = mailsFor(tenant, 'Template');
    const names = [...mail!.raw.matchAll(/^Content-Type: text\/csv; name="(.*)"/gm)].map(([, name]) => name);
    expect(names).toEqual(['own.csv', 'Invoice c d.csv']);
    const program = await tenant.trigger(
      { limit_to: ['ann@x.test'] },
      { number: '8', terms: `${peer.url}/x.csv`, ending: '.exe' },
    );
    expect(await tenant.outcomes(program)).toEqual(['ann@x.test failed: attachment.failed']);
    expect((await tenant.deliveries(program))[0]!.detail).toContain('files with the extension .exe are not sent');
    const wrong = await tenant.trigger({}, { number: 7, terms: 'ftp://x.test/a' });
    const failed = 'failed: template.failed';
    expect(await tenant.outcomes(wrong)).toEqual([`ann@x.test ${failed}`, `bob@x.test ${failed}`]);
  });

  test('a temporary failure is retried, and a permanent one ends the delivery, both with the reason', async () => {
    let reply: Reply = { status: 503 };
    const peer = await openFiles(() => reply);
    const tenant = await mailTenant({ users: ['ann@x.test'] });
    const retried = await tenant.trigger({ attachments: [{ url: `${peer.url}/a.csv?signature=hush` }] });
    const [waiting] = await tenant.until(retried, 'retrying');
    expect(waiting).toMatchObject({
      reason: 'attachment.failed',
      detail: `${peer.url}/a.csv: the server answered 503`,
    });
    const attempts = `/api/o/${tenant.slug}/occurrence/${retried}/deliveries/${waiting!.id}/attempts/`;
    expect((await tenant.ask({ path: attempts })).body).toEqual([
      expect.objectContaining({ outcome: 'failed', provider: null, detail: waiting!.detail }),
    ]);
    reply = { status: 404 };
    const failed = await tenant.trigger({ attachments: [{ url: `${peer.url}/b.csv` }] });
    expect(await tenant.outcomes(failed)).toEqual(['ann@x.test failed: attachment.failed']);
    reply = 'flood';
    const endless = await tenant.trigger({ attachments: [{ url: `${peer.url}/c.csv` }] });
    expect(await tenant.outcomes(endless, 30_000)).toEqual(['ann@x.test failed: attachment.failed']);
    reply = { headers: { 'content-type': 'image/png' }, body: 'not a picture' };
    const wrong = await tenant.trigger({ attachments: [{ url: `${peer.url}/d.png` }] });
    await tenant.outcomes(wrong);
    expect((await tenant.deliveries(wrong))[0]!.detail).toContain('not of the type image/png');
    await tenant.post(`/api/o/${tenant.slug}/occurrence/${retried}/cancel/`);
  });

  test('files of organizations whose servers hang delay no file of another organization', {
    tags: ['sweep'],
  }, async () => {
    const hanging = await openFiles('hang');
    const peer = await openFiles(file);
    const hang = async () => {
      const stuck = await mailTenant({ users: ['ann@x.test'] });
      const one = (n: number) => stuck.trigger({ attachments: [{ url: `${hanging.url}/${stuck.slug}/${n}.csv` }] });
      await Promise.all(Array.from({ length: 20 }, (_, n) => one(n)));
      return async () => {
        const { status } = await stuck.ask({ method: 'DELETE', path: `/api/o/${stuck.slug}/?cascade=true` });
        expect(status).toBe(200);
      };
    };
    const other = await mailTenant({ users: ['ann@x.test'] });
    const send = async (name: string) => {
      const began = fairNow();
      const id = await other.trigger({ attachments: [{ url: `${peer.url}/${name}.csv` }] });
      expect(await other.outcomes(id, 60_000)).toEqual(['ann@x.test sent']);
      return fairNow() - began;
    };
    await send('alone');
    const forget = [];
    const ms = [];
    for (const organizations of [2, 4]) {
      while (forget.length < organizations) forget.push(await hang());
      await eventually(() => expect(hanging.seen.length).toBeGreaterThanOrEqual(2 * organizations));
      ms.push(await send(`beside-${organizations}`));
    }
    for (const one of forget) await one();
    expect(Math.max(...ms)).toBeLessThan(3_000);
  });

  test('a private network is refused', async () => {
    const tenant = await mailTenant({ users: ['ann@x.test'] });
    const id = await tenant.trigger({ attachments: [{ url: 'http://10.0.0.1/secret.txt' }] });
    expect(await tenant.outcomes(id)).toEqual(['ann@x.test failed: attachment.failed']);
    expect((await tenant.deliveries(id))[0]!.detail).toContain('private or reserved');
  });
});

describe('a provider that cannot send files', () => {
  test('sends the message nevertheless, and the history says that they were left out', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    const id = await tenant.trigger({
      attachments: [{ id: await uploadPdf(tenant) }, { url: 'https://x.test/a/b.csv' }],
    });
    await tenant.outcomes(id);
    expect((await tenant.deliveries(id))[0]).toMatchObject({
      status: 'sent',
      detail: 'attachments left out, because Standard Webhooks cannot send files: Invoice.pdf, b.csv',
    });
  });

  test('names them in every form of the text', () => {
    const content = { title: 'T', text: 'Hello', missing: [] };
    const line = 'Attachments: a&b.pdf, c.csv';
    const name = (more: Partial<Content>) => nameFiles({ ...content, ...more }, ['a&b.pdf', 'c.csv']);
    expect(name({}).text).toBe(`Hello\n\n${line}`);
    expect(name({ markup: '*Hello*' }).markup).toBe('*Hello*\n\nAttachments: a&amp;b.pdf, c.csv');
    expect(name({ html: '<p>Hello</p>' }).html).toBe('<p>Hello</p><p>Attachments: a&amp;b.pdf, c.csv</p>');
    expect(name({ card: [{ type: 'divider' }] }).card).toEqual([
      { type: 'divider' },
      { type: 'section', text: { type: 'plain_text', text: line } },
    ]);
    expect(name({ card: { type: 'AdaptiveCard', body: [] } }).card).toEqual({
      type: 'AdaptiveCard',
      body: [{ type: 'TextBlock', text: line, wrap: true }],
    });
  });
});

describe('the storage limit of an organization', () => {
  const limits = (tenant: Tenant) => tenant.ask({ path: `/api/o/${tenant.slug}/limits/` });
  const used = async (tenant: Tenant) => (await limits(tenant)).body.used.attachment_bytes;
  const limitTo = (tenant: Tenant, bytes: number) =>
    tenant.sql('update organizations set attachment_bytes_limit = $2 where id = $1', tenant.id, bytes);

  test('counts used uploads, holds for uploads at the same time, and is freed when retention deletes them', async () => {
    const tenant = await mailTenant();
    const { db } = world.service.runtime.deps;
    await limitTo(tenant, 3 * pdf.length);
    const id = await tenant.trigger({ attachments: [{ id: await uploadPdf(tenant) }] });
    await tenant.outcomes(id);
    expect(await used(tenant)).toBe(pdf.length);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => upload(tenant, `${n}.pdf`, 'application/pdf', pdf)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429, 429, 429]);
    expectProblem(answers.find(({ status }) => status === 429)!, 429, 'limit.attachment_bytes');
    expect(await used(tenant)).toBe(3 * pdf.length);
    await tenant.sql('delete from deliveries where occurrence_id = $1', id);
    await tenant.sql('delete from occurrences where id = $1', id);
    await deleteOldAttachments(db, Date.now() + 100 * 86_400_000);
    expect(await used(tenant)).toBe(0);
    await uploadPdf(tenant);
  });

  test('is checked for unused uploads at the same time too', async () => {
    const tenant = await mailTenant();
    await tenant.sql(
      `insert into attachments (organization_id, id, name, content_type, bytes, content, expires_at)
       select $1, gen_random_uuid(), 'a', 'text/plain', 1, 'a', now() + interval '1 d' from generate_series(1, $2)`,
      tenant.id,
      attachmentLimits.unusedFiles - 1,
    );
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, n) => upload(tenant, `${n}.pdf`, 'application/pdf', pdf)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 429, 429, 429]);
  });

  test('applies to fetched files, and the message says what to do', { tags: ['sweep'] }, async () => {
    const peer = await openHttpPeer({ headers: { 'content-type': 'text/csv' }, body: 'a;b' });
    onTestFinished(() => peer.close());
    const tenant = await mailTenant({ users: ['ann@x.test'] });
    await limitTo(tenant, 2);
    const id = await tenant.trigger({ attachments: [{ url: `${peer.url}/a.csv` }] });
    const [waiting] = await tenant.until(id, 'retrying');
    expect(waiting).toMatchObject({ reason: 'attachment.failed' });
    expect(waiting!.detail).toContain('its limit, attachment_bytes, is 2 B: reduce retention_days');
    expect(await used(tenant)).toBe(0);
    await limitTo(tenant, 3);
    await tenant.hurry();
    expect(await tenant.outcomes(id, 20_000)).toEqual(['ann@x.test sent']);
    expect(await used(tenant)).toBe(3);
  });
});

describe('deletion', () => {
  test('files are deleted with their last occurrence, unused uploads after a day, and all with the organization', async () => {
    const tenant = await mailTenant();
    const { db } = world.service.runtime.deps;
    const later = Date.now() + 100 * 86_400_000;
    const [shared, kept] = [await uploadPdf(tenant, 'shared.pdf'), await uploadPdf(tenant, 'kept.pdf')];
    const unused = await uploadPdf(tenant, 'unused.pdf');
    const first = await tenant.trigger({ attachments: [{ id: shared }] });
    const second = await tenant.trigger({ attachments: [{ id: shared }] });
    await tenant.outcomes(await tenant.trigger({ attachments: [{ id: kept }] }));
    await tenant.outcomes(first);
    await tenant.outcomes(second);
    const names = async () => {
      const rows = await tenant.sql('select name from attachments where organization_id = $1 order by 1', tenant.id);
      return rows.map(({ name }) => name);
    };
    const forget = async (occurrence: string) => {
      await tenant.sql('delete from deliveries where occurrence_id = $1', occurrence);
      await tenant.sql('delete from occurrences where id = $1', occurrence);
    };
    await tenant.sql(`update attachments set expires_at = now() - interval '1 s' where id = $1`, unused);
    await forget(first);
    await deleteOldAttachments(db, Date.now());
    expect(await names()).toEqual(['kept.pdf', 'shared.pdf']);
    await deleteOldAttachments(db, later);
    expect(await names()).toEqual(['kept.pdf', 'shared.pdf']);
    await forget(second);
    await deleteOldAttachments(db, later);
    expect(await names()).toEqual(['kept.pdf']);
    const deleted = await tenant.ask({ method: 'DELETE', path: `/api/o/${tenant.slug}/?cascade=true` });
    expect(deleted.status, deleted.text).toBe(200);
    expect(await names()).toEqual([]);
  });
});
