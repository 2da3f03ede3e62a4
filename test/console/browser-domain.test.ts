/**
 * The check of a sending domain on the page of a channel, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createChannel } from '../../src/services/configuration/channels.ts';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { openZoneServer, type ZoneServer } from '../support/zone.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let dns: ZoneServer;
let demo: DemoConsole;
beforeAll(async () => {
  dns = await openZoneServer();
  demo = await openDemoConsole(
    { BELFRY_DNS_SERVERS: dns.address },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  );
  const provider = {
    use: 'smtp',
    host: 'smtp.mailservice.test',
    user: 'acme',
    password: 'secret',
    from: 'Acme <no-reply@acme.test>',
  };
  const channel = { slug: 'post', name: 'Post', type: 'email' as const, providers: [provider] };
  await createChannel(demo.service.runtime.deps, { org: 'demo' }, channel);
});
afterAll(async () => {
  await demo.close();
  await dns.close();
});

const sound = {
  'acme.test TXT': 'v=spf1 include:_spf.mailservice.test -all',
  '_spf.mailservice.test TXT': 'v=spf1 ip4:81.2.69.0/24 -all',
  'acme.test MX': '10 mail.acme.test',
  'mail.acme.test A': '81.2.69.142',
  '_dmarc.acme.test TXT': 'v=DMARC1; p=reject; rua=mailto:dmarc@acme.test',
};

test('a channel shows what is wrong with its domain, and the records to copy', async () => {
  const { page, complaints } = demo;
  dns.serve(
    { ...sound, 'acme.test TXT': 'v=spf1 include:_spf.mailservice.test +all', '_dmarc.acme.test TXT': [] },
    { 'acme.test MX': 'SERVFAIL' },
  );
  await page.goto('/o/demo/channels/post');
  const section = page.getByRole('region', { name: 'Sending domain' });
  await section.getByRole('button', { name: 'Check domain' }).click();
  await section.getByText('so every server in the world may send for it').waitFor();
  await section.getByText('The MX record of acme.test could not be checked').waitFor();
  expect(await section.getByText('Error', { exact: true }).count()).toBe(2);
  expect(await axeViolations(page)).toEqual([]);
  await takeScreenshots(page, 'domain-problems');
  const record = section.getByRole('group', { name: 'Record to publish' }).last();
  await record.getByRole('button', { name: 'Copy the value' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('v=DMARC1; p=none; rua=mailto:dmarc@acme.test');

  dns.serve(sound);
  await section.getByRole('button', { name: 'Check again' }).click();
  await section.getByText('does not sign its messages with DKIM').waitFor();
  expect(await section.getByText('Error', { exact: true }).count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('a domain without problems says so', async () => {
  const { page, service } = demo;
  dns.serve(sound);
  const provider = { use: 'postmark', server_token: '00000000-0000-0000-0000-000000000000', from: 'a@acme.test' };
  const channel = { slug: 'sound', name: 'Sound', type: 'email' as const, providers: [provider] };
  await createChannel(service.runtime.deps, { org: 'demo' }, channel);
  await page.goto('/o/demo/channels/sound');
  await page.getByRole('button', { name: 'Check domain' }).click();
  await page.getByText('No problems found').waitFor();
  await page.getByText('Checked: SPF, DMARC, MX.').waitFor();
  await takeScreenshots(page, 'domain-sound');
});
