/**
 * Schedules in the console, in a real browser: their form, calendar, overrides, swaps, pages, gaps and report.
 *
 * @module-tag browser
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { openHttpPeer } from '../support/http-peer.ts';

vi.setConfig({ hookTimeout: 240_000 });

const dayMs = 86_400_000;

let open: DemoConsole;
/** Usernames. */
let ann: string;
let bob: string;
let cem: string;

beforeAll(async () => {
  open = await openDemoConsole();
  const people = (await open.ask({ path: '/api/o/demo/u/?limit=3' })).body as { username: string }[];
  [ann, bob, cem] = people.map(({ username }) => username) as [string, string, string];
});
afterAll(() => open.close());

/** Creates a schedule in which Ann and Bob take turns of a day, and returns its paths. */
async function createSchedule(slug: string, fields: object = {}): Promise<{ api: string; address: string }> {
  const layer = { name: 'Days', every: '1d', from: '2026-01-05T09:00', users: [ann, bob] };
  const body = { slug, name: `Schedule ${slug}`, timezone: 'Etc/UTC', layers: [layer], ...fields };
  await post('/api/o/demo/p/shop/schedules/', body);
  return { api: `/api/o/demo/p/shop/schedules/${slug}/`, address: `/o/demo/schedules/shop/${slug}` };
}

async function post(path: string, body: object): Promise<void> {
  expect(await open.ask({ method: 'POST', path, body })).toMatchObject({ status: 201 });
}

/** Returns what an input for a time shows, in so many days. */
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 16);

async function check(screenshot: string): Promise<void> {
  expect(await axeViolations(open.page)).toEqual([]);
  await takeScreenshots(open.page, screenshot);
  expect(open.complaints).toEqual([]);
}

/** Looks at the page on a phone. */
async function onPhone(look: () => Promise<void>): Promise<void> {
  await open.page.setViewportSize({ width: 390, height: 844 });
  await look();
  await open.page.setViewportSize({ width: 1280, height: 900 });
}

/** Returns the names of fields for a date and a time that are too narrow for it. */
function cutDates(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('input[type=datetime-local]')].flatMap(input => {
    const { offsetWidth, style } = input;
    style.width = 'max-content';
    const isCut = offsetWidth < input.offsetWidth;
    style.width = '';
    return isCut ? [input.labels[0].textContent] : [];
  })`);
}

test('a schedule is created, changed with a preview, and a shift of it is taken', async () => {
  const { page, ask } = open;
  await page.goto('/o/demo/schedules');
  await page.getByRole('button', { name: 'New schedule' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Primary');
  await dialog.getByLabel('Turns').fill(`${ann}\n${bob}`);
  await dialog.getByLabel('A turn lasts').fill('1d');
  await dialog.getByRole('button', { name: 'Create schedule' }).click();
  await page.waitForURL('**/schedules/*/primary');
  const week = page.getByRole('list', { name: 'Week' });
  await week.getByRole('listitem').nth(3).waitFor();
  await page.getByText('No overrides').waitFor();
  await check('schedule');
  expect(await cutDates(page)).toEqual([]);

  await page.getByRole('button', { name: 'Add layer' }).click();
  const second = page.getByRole('group', { name: 'Layer 2' });
  await second.getByLabel('Turns').fill(`${cem}, ${bob}`);
  await second.getByLabel('Only at these times').fill('mon-sun 18:00-09:00');
  await page.getByText('With unsaved changes').waitFor();
  await takeScreenshots(page, 'schedule-preview');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The schedule was saved.').waitFor();
  const prj = new URL(page.url()).pathname.split('/').at(-2);
  const path = `/api/o/demo/p/${prj}/schedules/primary/`;
  expect((await ask({ path })).body.layers[1]).toMatchObject({
    users: [[cem, bob]],
    only: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], from: '18:00', until: '09:00' }],
  });

  await page.getByRole('button', { name: 'Take or give a shift' }).click();
  await dialog.getByRole('combobox', { name: 'On call' }).fill(cem);
  await page.getByRole('option', { name: cem }).click();
  await dialog.getByLabel('Ends').fill(inDays(1));
  await dialog.getByLabel('Reason').fill('Holiday');
  await takeScreenshots(page, 'schedule-override');
  await dialog.getByRole('button', { name: 'Save override' }).click();
  await page.getByText('instead of everyone · Holiday').waitFor();
  const striped = week.getByRole('listitem', { name: /override$/ });
  await striped.first().waitFor();
  expect((await ask({ path: `${path}on-call/` })).body.users).toMatchObject([{ username: cem }]);
  await takeScreenshots(page, 'schedule-overridden');
  expect(open.complaints).toEqual([]);
});

test('dialogs say what is wrong', { tags: ['sweep'] }, async () => {
  const { page } = open;
  const { address } = await createSchedule('mistakes');
  const dialog = page.getByRole('dialog');
  await page.goto('/o/demo/schedules');
  await page.getByRole('link', { name: 'Schedule mistakes' }).waitFor();
  await check('schedules');
  await page.getByRole('button', { name: 'New schedule' }).first().click();
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Wrong');
  await dialog.getByLabel('Turns').fill('who@acme.test');
  await dialog.getByRole('button', { name: 'Create schedule' }).click();
  await dialog.getByText('there is no user "who@acme.test"').waitFor();
  await dialog.getByLabel('Only at these times').fill('weekends');
  await dialog.getByRole('button', { name: 'Create schedule' }).click();
  await dialog.getByText('weekends is no time').waitFor();
  await check('schedules-new');

  await page.goto(address);
  await page.getByRole('button', { name: 'Take or give a shift' }).click();
  await dialog.getByRole('button', { name: 'Save override' }).click();
  await dialog.getByText('Choose a user.').waitFor();
  await dialog.getByText('Enter when it ends.').waitFor();
  await page.goto(`/o/demo/users/${bob}`);
  await page.getByRole('button', { name: 'Add absence' }).click();
  await dialog.getByRole('button', { name: 'Save absence' }).click();
  await dialog.getByText('Enter when it begins.').waitFor();
});

test('the calendar shows a month or a list, and moves with the keyboard', { tags: ['sweep'] }, async () => {
  const { page } = open;
  const { api, address } = await createSchedule('calendar', { timezone: 'Pacific/Kiritimati' });
  await post(`${api}overrides/`, { user: cem, ends_at: new Date(Date.now() + dayMs).toISOString() });
  await page.goto(address);
  const calendar = page.getByRole('region', { name: 'Calendar' });
  await calendar.getByText('Month', { exact: true }).click();
  const month = calendar.getByRole('list', { name: 'Month' });
  const striped = month.getByRole('listitem', { name: /override$/ });
  await striped.first().waitFor();
  expect(await month.locator('[aria-current=date]').count()).toBe(1);
  await check('schedule-month');
  await calendar.getByRole('button', { name: 'Next month' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await month.locator('[aria-current=date]').waitFor({ state: 'detached' });
  await page.keyboard.press('Home');
  await month.locator('[aria-current=date]').waitFor();

  await onPhone(async () => {
    await page.reload();
    const shifts = calendar.getByRole('list', { name: 'Shifts' });
    await shifts.locator('[aria-current=time]').getByText('Now').waitFor();
    // What goes on after the list does not end there.
    await shifts.getByRole('listitem').last().getByText(/ – …$/).waitFor();
    await calendar.getByText('Pacific/Kiritimati', { exact: true }).click();
    await calendar.getByText('Times in Pacific/Kiritimati').waitFor();
    await check('schedule-list');
  });
});

test('an override is ended, and a swap is asked for and accepted', { tags: ['sweep'] }, async () => {
  const { page } = open;
  const { api, address } = await createSchedule('swaps');
  await post(`${api}overrides/`, { user: cem, ends_at: new Date(Date.now() + dayMs).toISOString() });
  const dialog = page.getByRole('dialog');
  await page.goto(address);
  await page.getByRole('button', { name: 'End the override' }).click();
  await dialog.getByRole('button', { name: 'End', exact: true }).click();
  await page.getByText('The override was ended.').waitFor();

  await page.getByText('No swaps').waitFor();
  await page.getByRole('button', { name: 'Ask for a swap' }).click();
  await dialog.getByRole('combobox', { name: 'Who asks' }).fill(bob);
  await page.getByRole('option', { name: bob }).click();
  await dialog.getByLabel('Begins').fill(inDays(1));
  await dialog.getByLabel('Ends').fill(inDays(4));
  await dialog.getByLabel('Message').fill('I am at a wedding.');
  await check('swap-new');
  await dialog.getByRole('button', { name: 'Ask', exact: true }).click();
  const accept = page.getByRole('button', { name: 'Accept the swap of' });
  await accept.waitFor();
  await takeScreenshots(page, 'swap-open');
  await accept.click();
  await dialog.getByRole('combobox', { name: 'On call' }).fill(ann);
  await page.getByRole('option', { name: ann }).click();
  await check('swap-accept');
  await dialog.getByRole('button', { name: 'Take the shift' }).click();
  await page.getByText('taken by').waitFor();
  await check('swaps');
});

test('an absence is entered, and the schedule warns of it', { tags: ['sweep'] }, async () => {
  const { page } = open;
  const { address } = await createSchedule('absences');
  const dialog = page.getByRole('dialog');
  await page.goto(`/o/demo/users/${bob}`);
  await page.getByText('No absences').waitFor();
  await page.getByRole('button', { name: 'Add absence' }).click();
  await dialog.getByLabel('Begins').fill(inDays(-3));
  await dialog.getByLabel('Ends').fill(inDays(3));
  await dialog.getByLabel('Reason').fill('Parental leave');
  await check('absence-new');
  await dialog.getByRole('button', { name: 'Save absence' }).click();
  await page.getByText('Parental leave').waitFor();
  await check('absences');
  await page.goto(address);
  await page.getByText('On call while away').waitFor();
  await page
    .getByText(/is away from .*Parental leave/)
    .first()
    .waitFor();
  await check('schedule-absence');
});

test('a calendar is connected, and its absences warn of a shift', { tags: ['sweep'] }, async () => {
  const { page } = open;
  const day = (days: number) => inDays(days).slice(0, 10).replaceAll('-', '');
  const event = (from: number, until: number, title: string) =>
    `BEGIN:VEVENT\r\nUID:${title}\r\nDTSTART;VALUE=DATE:${day(from)}\r\nDTEND;VALUE=DATE:${day(until)}\r\nSUMMARY:${title}\r\nEND:VEVENT\r\n`;
  const events = event(2, 6, 'Vacation in Rome') + event(20, 21, 'Fair');
  const peer = await openHttpPeer({ body: `BEGIN:VCALENDAR\r\nVERSION:2.0\r\n${events}END:VCALENDAR\r\n` });
  onTestFinished(() => peer.close());
  const dialog = page.getByRole('dialog');
  await page.goto(`/o/demo/users/${cem}`);
  await page.getByText('No calendars').waitFor();
  await page.getByRole('button', { name: 'Connect calendar' }).click();
  await dialog.getByRole('button', { name: 'Save calendar' }).click();
  await dialog.getByText('Enter the address of the calendar.').waitFor();
  await dialog.getByLabel('Address of the calendar').fill('https://192.168.0.1/a.ics');
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText(/192\.168\.0\.1 is a private/).waitFor();
  await dialog.getByLabel('Address of the calendar').fill(`${peer.url}/secret.ics`);
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('2 absences in the next 180 days').waitFor();
  await dialog.getByLabel('Words').fill('vacation');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('1 absence in the next 180 days').waitFor();
  await check('absence-calendar-new');
  await dialog.getByRole('button', { name: 'Save calendar' }).click();
  await page.getByText('The calendar was saved: 1 absence.').waitFor();
  await page.getByText('Vacation in Rome · From a calendar').waitFor();
  await page.getByText('Only with: vacation').scrollIntoViewIfNeeded();
  await check('absence-calendars');
  await onPhone(() => check('absence-calendars-phone'));
  await page.getByRole('button', { name: /^Change the calendar on/ }).click();
  await dialog.getByText('Empty: the address stays as it is.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: /^Remove the calendar on/ }).click();
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText('No calendars').waitFor();
  expect(await page.getByText('Vacation in Rome').count()).toBe(0);
});

test('a notification goes to a schedule, and a simulation says who is on call then', { tags: ['sweep'] }, async () => {
  const { page } = open;
  const layer = { name: 'Days', every: '1d', from: '2026-01-05T09:00' };
  await createSchedule('nights', { name: 'Nights', layers: [{ ...layer, users: [cem, bob] }] });
  const events = '/api/o/demo/p/shop/a/web/e/';
  await post(events, { slug: 'night', name: 'Night' });
  await page.goto('/o/demo/p/shop/a/web/e/night/n/new');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('pager');
  await page.getByRole('checkbox', { name: 'On call' }).check();
  await page.getByRole('combobox', { name: 'On call' }).click();
  await page.getByRole('option', { name: 'Next on call: Nights' }).click();
  await takeScreenshots(page, 'notification-on-call');
  const later = { schedule: 'nights', offset: 1 };
  const steps = [
    { channels: ['mail'] },
    { after: '10m', unless: 'acknowledged', channels: ['mail'], recipients: later },
  ];
  const message = { body: 'Wake up' };
  await post(`${events}night/n/`, { name: 'pager', steps, message, recipients: { schedule: 'nights' } });
  await page.goto('/o/demo/p/shop/a/web/e/night');
  await page.getByLabel('Simulate at').fill(`${inDays(3).slice(0, 10)}T20:00`);
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByRole('status').getByText(cem).first().waitFor();
  await page.getByRole('status').getByText(bob).first().waitFor();
  const timeline = page.getByRole('list', { name: 'Steps, if no one acknowledges' }).getByRole('listitem');
  await timeline.filter({ hasText: 'At once · ' }).waitFor();
  await timeline.filter({ hasText: 'After 10 min · ' }).getByText('by').first().waitFor();
  await check('simulate-on-call');
});

test('gaps are on the schedule and the overview, and a test page is sent', { tags: ['sweep'] }, async () => {
  const { page, ask } = open;
  const { api, address } = await createSchedule('gaps');
  const notification = { name: 'on call', message: { body: 'Test' }, channels: ['mail'] };
  await post('/api/o/demo/p/shop/a/web/e/', { slug: 'drill', name: 'Drill' });
  await post('/api/o/demo/p/shop/a/web/e/drill/n/', { ...notification, recipients: { schedule: 'gaps' } });
  await page.goto(address);
  const section = page.getByRole('region', { name: 'Gaps' });
  const unverified = section.getByRole('listitem').filter({ hasText: 'Not verified' });
  await unverified.first().waitFor();
  await page.getByRole('combobox', { name: 'Event of test pages' }).click();
  await page.getByRole('option', { name: 'web/drill' }).click();
  await page.getByLabel('Every').fill('often');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('must be a number of days from 1d to 90d', { exact: true }).waitFor();
  await page.getByLabel('Every').fill('14d');
  await page.getByLabel('At', { exact: true }).fill('10:30');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The schedule was saved.').waitFor();
  expect((await ask({ path: api })).body.test).toEqual({ event: 'web/drill', every: '14d', at: '10:30' });
  await page.getByText('has never confirmed a test page').first().waitFor();
  await check('gaps-schedule');
  await page.goto(`/o/demo/users/${ann}`);
  await page.getByRole('button', { name: 'Send a test page' }).click();
  await page.getByText('The test page was sent.').waitFor();
  await check('test-page');
  // Without an occurrence, the overview only shows newcomers what to do.
  await page.goto('/o/demo');
  await page.getByRole('heading', { name: 'Gaps' }).waitFor();
  await unverified.first().waitFor();
  await check('gaps-overview');
});

test('the form names the events, and the users on call are paged', { tags: ['sweep'] }, async () => {
  const { page, ask } = open;
  const { api, address } = await createSchedule('paging');
  await post('/api/o/demo/p/shop/a/web/e/', { slug: 'page', name: 'Page' });
  const message = { subject: '{{ title }}', body: '{{ message }}' };
  const notification = { name: 'pager', channels: ['mail'], recipients: { schedule: 'paging' }, message };
  await post('/api/o/demo/p/shop/a/web/e/page/n/', notification);
  const dialog = page.getByRole('dialog');
  await page.goto(address);
  await page.getByRole('combobox', { name: 'Event for hand-overs' }).click();
  await page.getByRole('option', { name: 'web/order-paid' }).click();
  await page.getByRole('combobox', { name: 'Event of pages' }).click();
  await page.getByRole('option', { name: 'web/page' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The schedule was saved.').waitFor();
  expect((await ask({ path: api })).body).toMatchObject({ on_change: 'web/order-paid', page: 'web/page' });
  await page.getByRole('button', { name: 'Page now' }).click();
  await dialog.getByText('Notifies now: ').waitFor();
  await dialog.getByRole('button', { name: 'Page now' }).click();
  await dialog.getByText('Say what has happened.').waitFor();
  await dialog.getByRole('textbox', { name: 'What has happened' }).fill('Smoke in the server room');
  await check('schedule-page-now');
  await dialog.getByRole('button', { name: 'Page now' }).click();
  await page.waitForURL('**/occurrences/*');
  await page.getByText('Smoke in the server room').first().waitFor();
  expect(open.complaints).toEqual([]);
});

test('a calendar is subscribed to, and its address is replaced', { tags: ['sweep'] }, async () => {
  const { page } = open;
  const { address } = await createSchedule('subscribed');
  await page.goto(address);
  const calendar = page.getByRole('region', { name: 'Calendar' });
  const dialog = page.getByRole('dialog');
  await calendar.getByRole('button', { name: 'Subscribe' }).click();
  const feed = (await calendar.getByText(/\/calendar\/schedule\..*\.ics$/).innerText()).replaceAll(/\s/g, '');
  expect((await fetch(feed)).status).toBe(200);
  await check('schedule-subscribed');
  await calendar.getByRole('button', { name: 'Replace address' }).click();
  await dialog.getByRole('button', { name: 'Replace address' }).click();
  await page.getByText('The address was replaced.').waitFor();
  expect((await fetch(feed)).status).toBe(404);
});

test('the report shows the hours of each user of a month', { tags: ['sweep'] }, async () => {
  const { page } = open;
  await createSchedule('report');
  await page.goto('/o/demo/schedules/report');
  await page.getByRole('cell', { name: ann }).first().waitFor();
  await page.getByRole('figure', { name: /^Hours of \d+ users?$/ }).waitFor();
  await check('on-call-report');
});

test('groups in chats are entered, and their page says what became of them', { tags: ['sweep'] }, async () => {
  const { page } = open;
  // No one listens there.
  const provider = { use: 'slack', token: 'xoxb-12345678-token', endpoint: 'http://127.0.0.1:9' };
  await post('/api/o/demo/p/shop/c/', { slug: 'team', name: 'Team', type: 'slack', providers: [provider] });
  const { api, address } = await createSchedule('grouped');
  await page.goto(address);
  const groups = page.getByRole('textbox', { name: 'Groups in chats' });
  await groups.fill('team oncall');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('must be the ID of a Slack user group, such as S0123ABCD').waitFor();
  await groups.fill('team S0123ABCD');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not updated').waitFor();
  expect((await open.ask({ path: `${api}groups/` })).body).toMatchObject([{ group: 'S0123ABCD', state: 'failing' }]);
  await page.getByText('Next attempt').waitFor();
  await page.getByRole('heading', { name: 'Groups in chats' }).scrollIntoViewIfNeeded();
  await check('schedule-groups');
  await onPhone(() => check('schedule-groups-phone'));
});
