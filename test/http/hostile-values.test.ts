/** Values that a tenant sets and that end up in a header, a Content-Security-Policy, HTML or a mail header. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  signAcknowledgeToken,
  signPreferencesToken,
  signUnsubscribeToken,
} from '../../src/core/message/recipient-links.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { ask, expectProblem } from '../support/api.ts';
import { type EngineWorld, joinWorld, sandbox, type Tenant } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

const { sign } = createSigner('a secret of at least 32 characters');
const hostileText = `"><script>alert(1)</script>' onload=x \u202E\u2028 </title>`;

let world: EngineWorld;
let tenant: Tenant;
let smtp: SmtpPeer;
let pages: string[];

beforeAll(async () => {
  smtp = await openSmtpPeer({ starttls: false });
  world = await joinWorld();
  tenant = await world.tenant({
    users: ['a@x.test'],
    organization: { name: hostileText, categories: [{ slug: 'news', name: hostileText, kind: 'promotional' }] },
    event: { category: 'news', name: hostileText },
    channels: [sandbox],
    notifications: [{ channels: ['sandbox'] }],
  });
  const occurrenceId = String(await tenant.trigger());
  const [user] = await tenant.sql<{ id: number }>('select id::int from users where organization_id = $1', tenant.id);
  const holder = { organizationId: tenant.id, userId: user!.id, generation: 0 };
  pages = [
    `/preferences/${signPreferencesToken(holder, sign)}`,
    `/unsubscribe/${signUnsubscribeToken({ ...holder, category: 'news', channelType: 'email' }, sign)}`,
    `/acknowledge/${signAcknowledgeToken({ ...holder, occurrenceId }, sign)}`,
  ];
});
afterAll(async () => {
  await world.close();
  await smtp.close();
});

const open = (path: string) => ask(world.service.address, { path });
const store = (column: 'logo_url' | 'brand_color', value: string | null) =>
  tenant.sql(`update organizations set ${column} = $1 where id = $2`, value, tenant.id);
const imagesOf = (policy: string | undefined) => /img-src ([^;]*)/.exec(policy ?? '')?.[1];

const badLogos = [
  'https://[x',
  'https://*',
  'https://*.evil.test/logo.png',
  'https://x%3Bsandbox/logo.png',
  'https://x%2Csandbox/logo.png',
  'https://x；sandbox/logo.png',
  'https://＊/logo.png',
  'https://user:secret@x.test/logo.png',
  'https://256.256.256.256/logo.png',
  'https://x.test:99999/logo.png',
  'https://x.test/\r\nset-cookie: a=b',
  'https://x.test/\u2028logo.png',
  'javascript:alert(1)',
  'https://',
  'https:///x',
];

describe('an unsafe logo URL', () => {
  test.each(badLogos)('is rejected by the API and the declarative file: %j', async logo_url => {
    const answer = await tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/`, body: { logo_url } });
    expectProblem(answer, 400, 'request.invalid', ['logo_url']);
    await expect(tenant.apply({ organization: { name: 'X', logo_url } })).rejects.toMatchObject({
      details: { fields: { 'organizations/0/logo_url': expect.arrayContaining([expect.stringContaining('URL')]) } },
    });
  });

  test.each(badLogos)('that is already stored is left out of the pages for recipients: %j', async logo_url => {
    await store('logo_url', logo_url);
    for (const path of pages) {
      const page = await open(path);
      expect(page.status, page.text).toBe(200);
      expect(imagesOf(page.headers['content-security-policy'])).toBe("'self'");
      expect(page.headers['content-security-policy']!.split('; ')).toHaveLength(6);
      expect(page.text).not.toContain('<img');
    }
    await store('logo_url', null);
  });
});

test('a logo adds only its own origin to the policy', async () => {
  for (const [logo_url, origin] of [
    ['https://cdn.x.test/logo.png?v=1#a', 'https://cdn.x.test'],
    ['https://CDN.x.test:8443/a%3Bb.png', 'https://cdn.x.test:8443'],
    ['https://xn--bcher-kva.example', 'https://xn--bcher-kva.example'],
  ] as const) {
    const answer = await tenant.ask({ method: 'PATCH', path: `/api/o/${tenant.slug}/`, body: { logo_url } });
    expect(answer.status, answer.text).toBe(200);
    for (const path of pages) {
      const page = await open(path);
      expect(imagesOf(page.headers['content-security-policy'])).toBe(`'self' ${origin}`);
      expect(page.text).toContain(`<img src="${logo_url}"`);
    }
  }
  await store('logo_url', null);
});

test('names are escaped on the pages for recipients, and an invalid stored color is not used', async () => {
  await store('brand_color', 'red}</style><script>alert(1)</script>');
  for (const path of pages) {
    const page = await open(path);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain('<script');
    expect(page.text).not.toContain('red}');
    expect(page.text).toContain('&lt;script');
  }
  await store('brand_color', null);
});

describe('a control character that would break a header', () => {
  const breaks = ['\r\nBcc: victim@x.test', '\nX: y', '\rX: y', '\u0000', '\u0085X: y'];

  test.each(breaks)('is rejected in the sender of mail: %j', async bad => {
    for (const from of [`Acme${bad} <a@x.test>`, `a@x.test${bad}`]) {
      const providers = [{ use: 'smtp', host: '127.0.0.1', port: smtp.port, from }];
      const body = { slug: 'mail', name: 'Mail', type: 'email', providers };
      const answer = await tenant.ask({ method: 'POST', path: `/api/o/${tenant.slug}/c/`, body });
      expectProblem(answer, 400, 'request.invalid', ['providers/0/from']);
    }
  });

  test.each(breaks)('is rejected in a username: %j', async bad => {
    const path = `/api/o/${tenant.slug}/u/`;
    expectProblem(await tenant.ask({ method: 'POST', path, body: { email: `a${bad}@x.test` } }), 400);
  });

  test.each(breaks)('cannot escape the mail header it is rendered into: %j', async bad => {
    const from = { use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'Acme <a@x.test>', starttls: 'never' };
    const mailing = await world.tenant({
      users: ['a@x.test'],
      organization: { categories: [{ slug: 'news', name: `News ${hostileText}`, kind: 'promotional' }] },
      event: { category: 'news' },
      channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [from] }],
      notifications: [{ channels: ['mail'], message: { subject: 'Hi {{ name }}', body: 'x' } }],
    });
    const before = smtp.mails.length;
    const name = bad === '\u0000' ? 'a' : `a${bad}`;
    await mailing.outcomes(await mailing.trigger({}, { name }), 20_000);
    expect(smtp.mails.length).toBe(before + 1);
    const { headers, to } = smtp.mails.at(-1)!;
    expect(to).toEqual(['a@x.test']);
    expect(Object.keys(headers)).not.toContain('bcc');
    expect(Object.keys(headers)).not.toContain('x');
  });

  test('is encoded in the name of a downloaded file', async () => {
    const name = `ü"; filename=evil.exe ${hostileText}`;
    const path = `/api/o/${tenant.slug}/p/shop/d/`;
    const { body } = await tenant.ask({ method: 'POST', path, body: { name } });
    const file = await tenant.ask({ path: `${path}${body.id}/export/` });
    expect(file.headers['content-disposition'] ?? '', file.text).toMatch(
      /^attachment; filename\*=UTF-8''[\w%.~!*'()-]+\.csv$/,
    );
  });
});

test('a malformed endpoint URL is rejected when it is stored', async () => {
  for (const url of ['https://[x', 'https://x.test:99999/', 'https://256.256.256.256/', 'http://x y/']) {
    const hook = { slug: 'h', name: 'H', url, types: ['delivery.failed'] };
    const answer = await tenant.ask({ method: 'POST', path: `/api/o/${tenant.slug}/webhooks/`, body: hook });
    expectProblem(answer, 400, 'request.invalid', ['url']);
    await expect(tenant.apply({ organization: { webhooks: [hook] } })).rejects.toMatchObject({
      details: {
        fields: { 'organizations/0/webhooks/0/url': expect.arrayContaining([expect.stringContaining('URL')]) },
      },
    });
    const providers = [{ use: 'standard-webhooks', url, secret: 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5' }];
    const channel = { slug: 'hook', name: 'Hook', type: 'webhook', providers };
    const made = await tenant.ask({ method: 'POST', path: `/api/o/${tenant.slug}/c/`, body: channel });
    expectProblem(made, 400, 'request.invalid', ['providers/0/url']);
  }
});
