/**
 * The hosted preference page in a real browser: with and without scripts, light and dark, on a phone, in two languages.
 *
 * @module-tag browser
 */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signPreferencesToken } from '../../src/core/message/recipient-links.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { axeViolations, openBrowser, takeScreenshots, type Visit, visit } from '../support/browser.ts';
import { type EngineWorld, openWorld, sandbox, type Tenant } from '../support/sink.ts';

const texts = { slug: 'texts', name: 'Texts', type: 'sms', providers: [{ use: 'sandbox' }] };

let world: EngineWorld;
let browser: Browser;
let tenant: Tenant;
const visits: Visit[] = [];

beforeAll(async () => {
  [world, browser] = await Promise.all([openWorld({ BELFRY_ROLE: 'api' }), openBrowser()]);
  tenant = await world.tenant({
    users: [
      { email: 'a@x.test', addresses: [{ name: 'phone', value: '+15555550100' }] },
      { email: 'd@x.test', locale: 'de' },
      'all@x.test',
      'js@x.test',
      'quiet@x.test',
      'rules@x.test',
      'duty@x.test',
      { email: 'dienst@x.test', locale: 'de', timezone: 'Europe/Berlin' },
    ],
    schedules: [
      {
        slug: 'primary',
        name: 'Primary',
        timezone: 'Europe/Berlin',
        layers: [{ name: 'days', every: '1d', from: '2026-01-05T09:00', users: ['duty@x.test', 'dienst@x.test'] }],
      },
    ],
    organization: {
      brand_color: '#ffcc00',
      categories: [
        {
          slug: 'news',
          name: 'Newsletter',
          description: 'Once a month.',
          kind: 'promotional',
          channels: ['email'],
          locales: { de: { name: 'Rundbrief' } },
        },
        { slug: 'security', name: 'Security', kind: 'required' },
      ],
    },
    channels: [sandbox, texts],
    notifications: [{ channels: ['sandbox'] }],
  });
});
afterAll(async () => {
  for (const one of visits) await one.close();
  await browser.close();
  await world.close();
});

const { sign } = createSigner('a secret of at least 32 characters');

async function linkOf(email: string): Promise<string> {
  const [user] = await tenant.sql<{ id: number }>(
    'select id::int from users where organization_id = $1 and email = $2',
    tenant.id,
    email,
  );
  return `/preferences/${signPreferencesToken({ organizationId: tenant.id, userId: user!.id, generation: 0 }, sign)}`;
}

async function open(email: string, options: BrowserContextOptions = {}) {
  const opened = await visit(browser, world.service.address, options);
  visits.push(opened);
  await opened.page.goto(await linkOf(email));
  return opened.page;
}

const chosenBy = (email: string) =>
  tenant.sql<{ scope: string; channel_type: string; enabled: boolean; source: string }>(
    `select p.scope, p.channel_type, p.enabled, p.source from preferences p join users u on u.id = p.user_id
     where u.email = $1 and u.organization_id = $2 order by 1, 2`,
    email,
    tenant.id,
  );

test.each([
  ['without scripts', 'a@x.test', { javaScriptEnabled: false }],
  ['with scripts', 'js@x.test', { javaScriptEnabled: true }],
])('only the changed preference is saved, %s', async (_how, email, options) => {
  const page = await open(email, options);
  await page.getByRole('heading', { name: 'Notification settings' }).waitFor();
  const required = page.getByRole('checkbox', { name: 'Security: Email' });
  expect(await required.isChecked()).toBe(true);
  expect(await required.isDisabled()).toBe(true);
  expect(await page.getByText('Required, cannot be turned off').count()).toBe(1);
  expect(await page.getByRole('checkbox', { name: 'Newsletter: SMS' }).count()).toBe(0);
  await page.getByRole('checkbox', { name: 'Newsletter: Email' }).uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your settings were saved.').waitFor();
  expect(await page.getByRole('checkbox', { name: 'Newsletter: Email' }).isChecked()).toBe(false);
  expect(await page.getByText(/Last changed on .* \(on this page\)/).count()).toBe(1);
  expect(await chosenBy(email)).toEqual([
    { scope: 'category:news', channel_type: 'email', enabled: false, source: 'page' },
  ]);
});

test('turning everything off includes preferences switched on individually, and keeps required categories', async () => {
  await tenant.ask({
    method: 'PATCH',
    path: `/api/o/${tenant.slug}/u/all@x.test/preferences/`,
    body: { preferences: [{ category: 'news', enabled: true }] },
  });
  const page = await open('all@x.test', { javaScriptEnabled: false });
  await page.getByRole('button', { name: 'Turn everything off' }).click();
  await page.getByText('Your settings were saved.').waitFor();
  for (const name of ['Newsletter: Email', 'General: Email', 'General: SMS']) {
    expect(await page.getByRole('checkbox', { name }).isChecked(), name).toBe(false);
  }
  expect(await page.getByRole('checkbox', { name: 'Security: Email' }).isChecked()).toBe(true);
  expect((await chosenBy('all@x.test')).map(({ scope, enabled }) => [scope, enabled])).toEqual([
    ['category:news', false],
    ['everything', false],
  ]);
});

test('recipients can set their own quiet hours and time zone, and invalid hours are refused', async () => {
  const page = await open('quiet@x.test', { javaScriptEnabled: false });
  const path = `/api/o/${tenant.slug}/u/quiet@x.test/preferences/`;
  // Entering times is enough; the select does not have to be changed.
  await page.getByLabel('From').fill('20:00');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your settings were saved.').waitFor();
  expect((await tenant.ask({ path })).body.quiet_hours).toMatchObject({ from: '20:00' });
  await page.getByLabel('Quiet hours', { exact: true }).selectOption('My own hours');
  await page.getByLabel('From').fill('21:30');
  await page.getByLabel('To', { exact: true }).fill('06:15');
  await page.getByLabel('Sun').uncheck();
  await page.getByLabel('Time zone').selectOption('Asia/Kolkata');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Your settings were saved.').waitFor();
  const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
  expect((await tenant.ask({ path })).body).toEqual({
    preferences: [],
    timezone: 'Asia/Kolkata',
    quiet_hours: { from: '21:30', to: '06:15', weekdays },
  });
  await page.getByLabel('To', { exact: true }).fill('21:30');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').waitFor();
  expect((await tenant.ask({ path })).body.quiet_hours.to).toBe('06:15');
});

test('recipients can set their own rules once they are used, and invalid rules are refused', async () => {
  const path = `/api/o/${tenant.slug}/u/rules@x.test/profile/`;
  const reach = async () => (await tenant.ask({ path })).body.reach;
  const page = await open('rules@x.test', { javaScriptEnabled: false });
  expect(await page.getByText('How alerts reach you').count()).toBe(0);
  await tenant.apply({ channels: [sandbox, texts], notifications: [{ name: 'own', channels: ['personal'] }] });
  await page.reload();
  const field = (label: string) => page.getByLabel(label, { exact: true });
  const save = async () => {
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your settings were saved.').waitFor();
  };
  await field('Urgent 1: By').selectOption('SMS');
  await field('Urgent 2: By').selectOption('Email');
  await field('Urgent 2: After minutes').fill('1.5');
  await field('Urgent 2: Times').fill('3');
  await save();
  const rules = { important: [{ by: 'sms' }, { by: 'email', after: '90s', repeat: 3 }] };
  expect(await reach()).toEqual(rules);
  // What the page shows is saved as it was, however it is written.
  await tenant.ask({ method: 'PATCH', path, body: { reach: { normal: [{ by: 'email', after: '1h' }] } } });
  await page.reload();
  await save();
  expect(await reach()).toEqual({ normal: [{ by: 'email', after: '1h' }] });
  await field('Not urgent 1: After minutes').fill('');
  await field('Not urgent 1: Times').fill('2');
  await page.getByRole('button', { name: 'Save' }).click();
  expect(await page.getByRole('alert').textContent()).toMatch(/needs minutes between two messages/);
  await field('Not urgent 1: By').selectOption('–');
  await save();
  expect(await reach()).toBeNull();
});

test('addresses are masked, and can be verified', async () => {
  const page = await open('a@x.test');
  const shown = (await page.getByRole('listitem').allTextContents()).map(text => text.replaceAll(/\s+/g, ' ').trim());
  const offer = 'Not verified Send code';
  expect(shown).toEqual([`Email: a••••@x•••.test ${offer}`, `SMS: +1••••••00 ${offer}`]);
});

test('recipients who are on call can say when they are away, and see what is wrong where they entered it', async () => {
  const page = await open('duty@x.test', { javaScriptEnabled: false });
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 16);
  const field = (label: string) => page.getByLabel(label, { exact: true });
  const add = page.getByRole('button', { name: 'Add absence' });
  await field('Begins').fill(inDays(5));
  await field('Ends').fill(inDays(4));
  await field('Reason (optional)').fill('Holiday');
  await add.click();
  await page.getByText('Enter when it ends').waitFor();
  await page.locator('input:focus').waitFor();
  const wrong = page.locator('input[aria-invalid]');
  expect(await wrong.getAttribute('id')).toBe(await page.locator('input:focus').getAttribute('id'));
  expect(await wrong.getAttribute('aria-describedby')).toBe('ends_at-error');
  expect(await field('Reason (optional)').inputValue()).toBe('Holiday');
  await field('Ends').fill(inDays(9));
  await add.click();
  await page.getByText('The absence was added.').waitFor();
  expect(await page.getByText('On call while away').count()).toBe(1);
  await field('Address of the calendar').fill('https://127.0.0.1:1/ann.ics');
  await page.getByRole('button', { name: 'Connect calendar' }).click();
  await page.getByText('This calendar cannot be read').waitFor();
  await page.getByRole('button', { name: /^Delete: / }).click();
  await page.getByText('The absence was deleted.').waitFor();
});

const phone = { viewport: { width: 360, height: 740 }, isMobile: true };

test.each<[string, string, BrowserContextOptions, string]>([
  ['light', 'a@x.test', { colorScheme: 'light' }, 'Notification settings'],
  ['dark', 'a@x.test', { colorScheme: 'dark' }, 'Notification settings'],
  ['on a phone', 'a@x.test', phone, 'Notification settings'],
  ['in German, dark and on a phone', 'd@x.test', { ...phone, colorScheme: 'dark' }, 'Benachrichtigungen'],
])('the page has no accessibility violations: %s', { tags: ['sweep'] }, async (_how, email, options, title) => {
  const page = await open(email, options);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(title);
  expect(await axeViolations(page)).toEqual([]);
  const width = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(width).toBe(0);
});

test.each<[string, BrowserContextOptions]>([
  ['wide', { colorScheme: 'light' }],
  ['on a phone', { ...phone, colorScheme: 'dark' }],
])('absences have no accessibility violations: %s', { tags: ['sweep'] }, async (_how, options) => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  for (const reason of ['Urlaub', `https://example.com/${'x'.repeat(100)}`]) {
    const body = { starts_at: inDays(3), ends_at: inDays(6), reason };
    await tenant.post(`/api/o/${tenant.slug}/u/dienst@x.test/absences/`, body);
  }
  const page = await open('dienst@x.test', options);
  await page.getByLabel('Adresse des Kalenders').fill('https://127.0.0.1:1/ann.ics');
  await page.getByRole('button', { name: 'Verbinden' }).click();
  await page.getByText('Dieser Kalender lässt sich nicht lesen').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  const width = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(width).toBe(0);
  await takeScreenshots(page, 'preference-absences');
});

test('the page and its categories are shown in German', { tags: ['sweep'] }, async () => {
  const page = await open('d@x.test');
  expect(await page.locator('html').getAttribute('lang')).toBe('de');
  expect(await page.getByRole('checkbox', { name: 'Rundbrief: E-Mail' }).count()).toBe(1);
});

test('a broken link answers 404 and reveals nothing', async () => {
  const opened = await visit(browser, world.service.address);
  visits.push(opened);
  const answer = await opened.page.goto('/preferences/1.1.0.nope');
  expect(answer!.status()).toBe(404);
  expect(await opened.page.getByRole('heading').textContent()).toBe('This link does not work');
  expect(await axeViolations(opened.page)).toEqual([]);
});
