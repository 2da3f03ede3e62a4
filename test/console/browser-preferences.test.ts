/**
 * Preferences in the console: categories, a person's choices and their reasons, quiet hours, in a real browser.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import { createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Demo } from '../../src/services/operations/demo/demo.ts';
import type { Ask } from '../support/api.ts';
import { axeViolations, takeScreenshots, visit } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { waitFor } from '../support/eventually.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let site: DemoConsole;
let demo: Demo;
let page: Page;
let ask: Ask;

const org = '/api/o/demo';
const eventPage = '/o/demo/p/shop/a/web/e/order-paid';
const event = `${org}/p/shop/a/web/e/order-paid/`;
const person = (name: string) => `/o/demo/users/${name}@demo.test`;
const user = (name: string) => `${org}/u/${name}@demo.test/`;

/** Links in messages need a public URL, and the console accepts no other host, so the port must be known first. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}

beforeAll(async () => {
  const port = await freePort();
  site = await openDemoConsole(
    { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}` },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  );
  ({ demo, ask, page } = site);
  await send('POST', `${org}/c/`, { slug: 'texts', name: 'Texts', type: 'sms', providers: [{ use: 'sandbox' }] });
});
afterAll(() => site.close());

async function send(method: string, path: string, body?: unknown) {
  const answer = await ask({ method, path, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
}

const button = (name: string) => page.getByRole('button', { name, exact: true });
const dialog = () => page.getByRole('dialog');
const section = (name: string) => page.getByRole('region', { name, exact: true }).first();
const cell = (name: string) => page.getByRole('switch', { name, exact: true });

/** Toggles by keyboard, because the styled track covers the input. */
async function toggle(name: string): Promise<void> {
  await cell(name).focus();
  await page.keyboard.press('Space');
}

/** Checks pages after interaction; browser-axe.test.ts checks them as loaded. */
async function expectAccessible(): Promise<void> {
  // A tooltip is outside the landmarks. The mouse may be over another element once the page has changed below it.
  await page.mouse.move(0, 0);
  await page.evaluate('document.activeElement.blur()');
  await page.getByRole('tooltip').first().waitFor({ state: 'detached' });
  expect(await axeViolations(page)).toEqual([]);
}

async function expectAccessibleOnPhone(): Promise<void> {
  await page.mouse.move(0, 0);
  await page.setViewportSize({ width: 390, height: 900 });
  try {
    expect(await axeViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  } finally {
    await page.setViewportSize({ width: 1280, height: 900 });
  }
}

describe('categories', () => {
  test('are explained while there are none, and the first one is created', async () => {
    await page.goto('/o/demo/categories');
    await page.getByText('No categories yet').waitFor();
    await expectAccessible();
    await button('New category').first().click();
    await page.getByLabel('Name', { exact: true }).fill('Newsletter');
    await page.getByRole('radio', { name: 'Promotional' }).check();
    await page.getByRole('combobox', { name: 'Off by default for these channels' }).click();
    await page.getByRole('option', { name: 'SMS' }).click();
    await page.keyboard.press('Escape');
    await button('Add translation').click();
    await page.getByLabel('Language').fill('de');
    await page.getByLabel('Name', { exact: true }).last().fill('Rundbrief');
    await expectAccessibleOnPhone();
    await page.getByRole('switch', { name: 'Record opens and clicks' }).click();
    await button('Create category').click();
    await page.getByRole('heading', { level: 1, name: 'Newsletter' }).waitFor();
    expect((await ask({ path: `${org}/categories/newsletter/` })).body).toMatchObject({
      kind: 'promotional',
      default: true,
      channel_defaults: { sms: false },
      channels: null,
      track: true,
      locales: { de: { name: 'Rundbrief' } },
    });
  });

  test('can be changed; only required ones can ignore quiet hours, and they are never tracked', async () => {
    await page.getByRole('radio', { name: 'Required' }).check();
    await page.getByRole('switch', { name: 'Send during quiet hours' }).click();
    await button('Save').click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    const read = async () => (await ask({ path: `${org}/categories/newsletter/` })).body;
    expect(await read()).toMatchObject({ kind: 'required', quiet_hours: 'ignore', channel_defaults: {}, track: false });
    await page.getByRole('radio', { name: 'Promotional' }).check();
    await page.getByRole('combobox', { name: 'Off by default for these channels' }).click();
    await page.getByRole('option', { name: 'SMS' }).click();
    await page.keyboard.press('Escape');
    await button('Save').click();
    await waitFor('the change', async () => (await read()).kind === 'promotional');
    expect(await read()).toMatchObject({ quiet_hours: 'respect', channel_defaults: { sms: false } });
  });

  test('are assigned in the form of an event, whose page shows its category', async () => {
    await page.goto(eventPage);
    await page.getByText('Category: General').waitFor();
    await page.getByRole('button', { name: /^More actions for event/ }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await dialog().getByRole('combobox', { name: 'Category' }).click();
    await page.getByRole('option', { name: 'Newsletter' }).click();
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Newsletter' }).click();
    await section('Events')
      .getByRole('link', { name: /Order paid/ })
      .waitFor();
    expect((await ask({ path: event })).body.category).toBe('newsletter');
  });

  test('in use cannot be deleted and list their events', async () => {
    await button('More').click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await dialog().getByText('Still in use').waitFor();
    await dialog().getByRole('link', { name: 'shop/web/order-paid' }).waitFor();
    await dialog().getByRole('button', { name: 'Close' }).last().click();
    await send('POST', `${org}/categories/`, { slug: 'spare', name: 'Spare' });
    await page.goto('/o/demo/categories/spare');
    await page.getByText('No events yet.').waitFor();
    await button('More').click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/categories$/);
    await page.getByRole('link', { name: /^General/ }).waitFor();
    expect(await page.getByRole('link', { name: 'Spare' }).count()).toBe(0);
  });
});

describe('a person’s page', () => {
  let link: string;

  test('copies the link to the preference page and shows choices made there', async () => {
    await page.goto(person('ada'));
    await section('Preferences').getByText('On: default', { exact: true }).first().waitFor();
    await section('Preferences').getByText('Off: category default').waitFor();
    await button('Copy preference link').first().click();
    await page.getByText('Copied the link.').waitFor();
    link = await page.evaluate('navigator.clipboard.readText()');
    const recipient = await visit(site.browser, site.service.address, { javaScriptEnabled: false });
    await recipient.page.goto(link);
    await recipient.page.getByRole('checkbox', { name: 'Newsletter: Email' }).uncheck();
    await recipient.page.getByRole('button', { name: 'Save' }).click();
    await recipient.page.getByText('Your settings were saved.').waitFor();
    await recipient.close();
    await page.reload();
    await section('Preferences')
      .getByText(/^Off: chosen on the preference page, \w+ \d+, \d{4}$/)
      .waitFor();
    expect(await cell('Newsletter: Email').isChecked()).toBe(false);
    await section('Preference history').getByText('Preference page', { exact: true }).waitFor();
    await expectAccessible();
    await expectAccessibleOnPhone();
  });

  test('changes a choice with the source console, and resets it', async () => {
    await toggle('Newsletter: Email');
    await section('Preferences')
      .getByText(/^On: chosen in the console/)
      .waitFor();
    const preferences = async () => (await ask({ path: `${user('ada')}preferences/` })).body.preferences;
    expect(await preferences()).toEqual([
      expect.objectContaining({ category: 'newsletter', channel_type: 'email', enabled: true, source: 'console' }),
    ]);
    await section('Preference history').getByText(demo.signIn.email, { exact: true }).first().waitFor();
    await button('Reset Newsletter: Email').click();
    await page.getByText('Reset Newsletter, Email.').waitFor();
    expect(await preferences()).toEqual([]);
  });

  test('turns everything off except narrower choices, and names the choice that decided', async () => {
    await send('PATCH', `${user('ada')}preferences/`, {
      preferences: [{ category: 'newsletter', channel_type: 'email', enabled: true }],
    });
    await page.reload();
    await button('Turn everything off').click();
    await dialog().getByRole('button', { name: 'Turn everything off' }).click();
    await section('Preferences')
      .getByText(/^Off: chosen in the console, .* \(Everything, all channels\)$/)
      .first()
      .waitFor();
    expect(await cell('Newsletter: Email').isChecked()).toBe(true);
    expect(await cell('Newsletter: SMS').isChecked()).toBe(false);
  });

  test('shows what applies to one event and changes it', async () => {
    await page.getByRole('combobox', { name: 'Choose an event' }).fill('paid');
    await page.getByRole('option', { name: /shop\/web\/order-paid/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const chosen = page.getByRole('group', { name: 'shop/web/order-paid' });
    await chosen.getByText(/\(Newsletter, Email\)$/).waitFor();
    await toggle('shop/web/order-paid: SMS');
    await chosen.getByText(/^On: chosen in the console/).waitFor();
    await button('Reset shop/web/order-paid, SMS').waitFor();
    await expectAccessible();
    await button('Reset Everything, all channels').click();
    await button('Reset Everything, all channels').waitFor({ state: 'detached' });
  });

  test('saves custom quiet hours and a time zone, and says in which zone the times are', async () => {
    const form = page.getByRole('form', { name: 'Quiet hours' });
    await form.getByRole('combobox', { name: 'Quiet hours' }).click();
    await page.getByRole('option', { name: 'Custom hours' }).click();
    // Without their own, people have the zone of the organization.
    await form.getByText('Times are in UTC.').waitFor();
    await form.getByLabel('From').fill('21:30');
    await form.getByLabel('Until').fill('21:30');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('Must differ from the start time').waitFor();
    await form.getByLabel('Until').fill('06:15');
    await form.getByText('Sun', { exact: true }).click();
    await form.getByRole('combobox', { name: 'Time zone' }).fill('Kolkata');
    await page.getByRole('option', { name: 'Asia/Kolkata' }).click();
    await form.getByText('Times are in Asia/Kolkata.').waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect((await ask({ path: `${user('ada')}preferences/` })).body).toMatchObject({
      timezone: 'Asia/Kolkata',
      quiet_hours: { from: '21:30', to: '06:15', weekdays: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
    });
  });

  test('revokes every link after confirmation', async () => {
    const status = async () => (await fetch(link)).status;
    await button('Revoke all links').click();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    expect(await status()).toBe(200);
    await button('Revoke all links').click();
    await dialog().getByRole('button', { name: 'Revoke all links' }).click();
    await page.getByText('Revoked all links and tokens.').waitFor();
    expect(await status()).toBe(404);
  });
});

test('the settings preview the preference page and are saved', async () => {
  await page.goto('/o/demo/settings');
  const form = page.getByRole('form', { name: 'Preference page and quiet hours' });
  await form.getByLabel('Brand color').fill('#0b7285');
  await form.getByRole('combobox', { name: 'Language of the preview' }).click();
  await page.getByRole('option', { name: 'Deutsch' }).click();
  const frame = page.frameLocator('iframe[title="Preview of the preference page"]');
  await frame.getByRole('checkbox', { name: 'Rundbrief: E-Mail' }).waitFor();
  const header = `document.querySelector('iframe[title="Preview of the preference page"]').contentDocument.querySelector('header')`;
  const color = () => page.evaluate<string>(`getComputedStyle(${header}).backgroundColor`);
  await waitFor('the color', async () => (await color()) === 'rgb(11, 114, 133)' || undefined);
  await form.getByLabel('Logo URL').fill('http://not.safe/logo.png');
  await form.getByLabel('Maximum messages per user per day').fill('20');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('must be an https URL').waitFor();
  await form.getByLabel('Logo URL').fill('');
  await expectAccessible();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  expect((await ask({ path: `${org}/settings/` })).body).toMatchObject({
    brand_color: '#0b7285',
    logo_url: null,
    quiet_hours: null,
    max_per_day: 20,
  });
});

describe('the designer', () => {
  test('explains a throttle as it is typed and saves it', async () => {
    const [{ id }] = (await ask({ path: `${event}n/` })).body;
    await page.goto(`${eventPage}/n/${id}`);
    await page.getByRole('switch', { name: 'Limit how often a user gets this' }).click();
    await page.getByText('At most 3 an hour for each recipient; the rest is dropped.').waitFor();
    await page.getByLabel('Count by').fill('order');
    await page.getByLabel('Per', { exact: true }).fill('soon');
    await button('Save').click();
    await page.getByText('Enter a duration, such as 30m, 1h or 7d.').waitFor();
    await page.getByLabel('Per', { exact: true }).fill('30m');
    await page.getByText('At most 3 in 30 minutes per order for each recipient; the rest is dropped.').waitFor();
    await expectAccessible();
    await button('Save').click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    const read = async () => (await ask({ path: `${event}n/${id}/` })).body.throttle;
    expect(await read()).toEqual({ max: 3, per: '30m', key: 'order' });
    await page.getByRole('switch', { name: 'Limit how often a user gets this' }).click();
    await button('Save').click();
    await waitFor('the throttle to be removed', async () => (await read()) === null);
  });

  test('shows the links of the default layout in HTML and in text', async () => {
    const mail = page.frameLocator('iframe[title="Email on desktop"]');
    await mail.getByRole('link', { name: 'Unsubscribe' }).waitFor();
    // A link opens in a new tab and does not replace the preview.
    const popup = page.waitForEvent('popup');
    await mail.getByRole('link', { name: 'Unsubscribe' }).click();
    await (await popup).close();
    await mail.getByRole('link', { name: 'Notification settings' }).waitFor();
    await page.getByText('Text', { exact: true }).click();
    await page.getByText(/Unsubscribe: http:\/\/127\.0\.0\.1:\d+\/unsubscribe\/preview/).waitFor();
  });
});

test('every page shows that a message waits for quiet hours and until when', async () => {
  const clock = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
  // The quiet hours set above are at night in Kolkata: from 16:00 UTC on, her message would wait as well.
  await send('PATCH', `${user('ada')}preferences/`, { quiet_hours: null });
  await send('PATCH', `${user('grace')}preferences/`, { quiet_hours: { from: clock(-60), to: clock(120) } });
  await send('PATCH', `${user('alan')}preferences/`, { preferences: [{ category: 'newsletter', enabled: false }] });
  const body = { context: { order: 'Q-1', amount: '1 EUR' } };
  const { occurrence } = await send('POST', demo.triggerPath, body);
  await waitFor('a delivery to wait', async () => {
    const { body: deliveries } = await ask({ path: `${org}/occurrence/${occurrence}/deliveries/?status=pending` });
    return deliveries.some((one: { reason: string | null }) => one.reason === 'quiet_hours');
  });
  await page.goto(`/o/demo/occurrences/${occurrence}?why=grace@demo.test`);
  const until = /^Until \d\d:\d\d /;
  await section('Deliveries').getByText(until).first().waitFor();
  await section('Why not?')
    .getByText(/^It is waiting: .* It will be sent .* at \d\d:\d\d /)
    .waitFor();
  await page.goto(`/o/demo/occurrences/${occurrence}?status=suppressed`);
  await section('Deliveries')
    .getByText(/^category newsletter, api on /)
    .first()
    .waitFor();
  await page.goto(person('grace'));
  await section('Delivery history').getByText(until).waitFor();
  await page.goto(eventPage);
  await page.getByText(/^1 message waits for quiet hours to end, until \d\d:\d\d .*\.$/).waitFor();
  await button('Simulate').click();
  await page.getByText(/1 of them would wait:/).waitFor();
  await page.getByText(/^Would wait until \d\d:\d\d /).waitFor();
  await page
    .getByText(/^category newsletter, api on /)
    .first()
    .waitFor();
  await expectAccessible();
});

test('an import shows the number of opt-outs before applying them', async () => {
  const [{ id }] = (await ask({ path: `${org}/p/shop/d/` })).body;
  await page.goto(`/o/demo/p/shop/lists/${id}/import`);
  await page.getByText('The opt_out column contains').waitFor();
  const file = 'email,unsubscribed\nnew@demo.test,newsletter\ngone@demo.test,all\nalan@demo.test,\n';
  await page.locator('input[type=file]').setInputFiles({
    name: 'people.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(file),
  });
  await button('Check file').click();
  await section('3. Check').getByText('will opt out').waitFor();
  const optedOut = (name: string) => section(name).locator('div:has(> p:text-is("2"))').getByText(/opt/);
  await optedOut('3. Check').waitFor();
  await expectAccessible();
  expect((await ask({ path: user('gone') })).status).toBe(404);
  await button('Import 3 rows').click();
  await section('4. Import').getByText('opted out').waitFor();
  await optedOut('4. Import').waitFor();
  expect((await ask({ path: `${user('gone')}preferences/` })).body.preferences).toEqual([
    expect.objectContaining({ category: null, event: null, enabled: false, source: 'import' }),
  ]);
});

test('a digest is set up and explained in the designer, and its event lists open digests', async () => {
  const created = await send('POST', `${event}n/`, {
    name: 'summary',
    recipients: { list: 'Customers' },
    channels: ['mail'],
    message: { subject: '{{ count }} orders', body: '{% for item in items %}- {{ item.context.order }}\n{% endfor %}' },
  });
  await page.goto(`${eventPage}/n/${created.id}`);
  await page.getByRole('switch', { name: 'Collect into a digest' }).click();
  await page.getByText('Collects messages for an hour, then sends each recipient one digest.').waitFor();
  await page.getByLabel('Every', { exact: true }).fill('now and then');
  await button('Save').click();
  await page.getByText('Enter a duration such as 1h, or a cron expression such as 0 9 * * *.').waitFor();
  await page.getByLabel('Every', { exact: true }).fill('0 9 * * *');
  await page
    .getByText('Collects messages until 09:00 in the recipient’s time zone, then sends each recipient one digest.')
    .waitFor();
  // The preview has three sample items and counts two more.
  await page.getByText('5 orders').first().waitFor();
  await expectAccessible();
  await button('Save').click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  expect((await ask({ path: `${event}n/${created.id}/` })).body.digest).toEqual({ every: '0 9 * * *' });
  await send('POST', demo.triggerPath, { context: { order: 'D-1', amount: '1 EUR' } });
  await page.goto(eventPage);
  await section('Open digests').getByRole('link', { name: 'ada@demo.test' }).waitFor();
  await expectAccessible();
});

test('an administrator sets the personal rules of a user, sees mistakes at their rows, and overwrites no one’s changes', async () => {
  const profile = `${user('grace')}profile/`;
  const rules = section('Personal rules');
  await page.goto(person('grace'));
  await rules.getByText('No rules. Messages are sent at once').waitFor();
  await button('Edit personal rules').click();
  await button('Add rule for Urgent').click();
  await button('Add rule for Urgent').click();
  await dialog().getByRole('combobox', { name: 'Urgent 2: By' }).click();
  await page.getByRole('option', { name: 'Voice' }).click();
  await dialog().getByLabel('Urgent 2: Times').fill('3');
  await button('Save').last().click();
  await dialog().getByText('is required for a repeated rule').waitFor();
  expect(await dialog().getByLabel('Urgent 2: Minutes after').getAttribute('aria-invalid')).toBe('true');
  await dialog().getByLabel('Urgent 2: Minutes after').fill('3');
  await button('Add rule for Other').click();
  await button('Remove rule 1 of Other').click();
  await takeScreenshots(page, 'personal-rules-dialog');
  await expectAccessible();
  await expectAccessibleOnPhone();
  await button('Save').last().click();
  await rules.getByText('Email now, 3 calls every 3 minutes').waitFor();
  await rules.getByText('By all channels at once').waitFor();
  await takeScreenshots(page, 'personal-rules');
  expect((await ask({ path: profile })).body.reach).toEqual({
    important: [{ by: 'email' }, { by: 'voice', after: '3m', repeat: 3 }],
  });
  // The form of the profile knows that the page itself has changed the user.
  await page.getByLabel('First name').fill('Amazing Grace');
  await button('Save').first().click();
  await page.getByRole('heading', { level: 1, name: 'Amazing Grace' }).waitFor();
  await button('Edit personal rules').click();
  await send('PATCH', profile, { reach: { normal: [{ by: 'sms' }] } });
  await button('Remove rule 2 of Urgent').click();
  await button('Save').last().click();
  await dialog().getByText('Someone else saved changes').waitFor();
  await dialog().getByRole('button', { name: 'Reload' }).click();
  await rules.getByText('SMS message now').waitFor();
  expect((await ask({ path: profile })).body.reach).toEqual({ normal: [{ by: 'sms' }] });
});
