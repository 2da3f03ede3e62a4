/**
 * The pager on a phone, in a real browser: pages arrive by web push, and are answered also without a connection. Chromium gets
 * push messages from Google's service only, so those that Belfry has encrypted are handed to the service worker by the
 * DevTools protocol. The one for tests shows no notifications either, so that what the worker asks to show is recorded.
 *
 * @module-tag browser
 * @module-tag sweep
 */
import type { CDPSession, Page, Worker } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { axeViolations, takeScreenshots } from '../support/browser.ts';
import { type DemoConsole, openDemoConsole } from '../support/demo-console.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { openPushService, type PushService } from '../support/push-service.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

const me = 'admin@demo.test';
const phone = { width: 390, height: 844 };

let open: DemoConsole;
let page: Page;
let push: PushService;
let devTools: CDPSession;
let registrationId: string;
let worker: Worker;

beforeAll(async () => {
  // The push service of this test has its own certificate.
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  push = await openPushService();
  const env = { BASE_URL: 'http://belfry.test', BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8' };
  open = await openDemoConsole(env, { viewport: phone, hasTouch: true });
  ({ page } = open);
  await page.addInitScript(allowPush(push.subscription));
  await applyConfiguration(open.service.runtime.deps, pagerConfiguration, { prune: false });
  devTools = await page.context().newCDPSession(page);
  devTools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    registrationId =
      registrations.find(one => new URL(one.scopeURL).pathname === '/o/')?.registrationId ?? registrationId;
  });
  await devTools.send('ServiceWorker.enable');
});
afterAll(async () => {
  // The browser logs each request without a connection.
  const expected = /ERR_INTERNET_DISCONNECTED/;
  const others = open.complaints.filter(one => !expected.test(one));
  open.complaints.splice(0, Infinity, ...others);
  await open.close();
  push.close();
  vi.unstubAllEnvs();
});

const dayMs = 86_400_000;
const later = Date.now() + 10 * dayMs;
const message = { subject: '{{ title }}', body: 'Please look at it.' };
const steps = [{ channels: ['browser'] }, { after: '1h', unless: 'acknowledged', channels: ['browser'] }];
const pagerConfiguration = {
  organizations: [
    {
      slug: 'demo',
      name: 'Demo',
      channels: [
        {
          slug: 'browser',
          name: 'Browser',
          type: 'webpush',
          providers: [{ use: 'vapid', subject: 'mailto:ops@demo.test' }],
        },
      ],
      users: [{ email: me }, { email: 'grace@demo.test' }],
      projects: [
        {
          slug: 'shop',
          name: 'Shop',
          schedules: [
            ...Array.from({ length: 10 }, (_, i) => ({
              slug: `other-${i}`,
              name: `Other ${i}`,
              timezone: 'UTC',
              layers: [{ name: 'Week', every: '1w', from: '2026-01-05T09:00', users: ['grace@demo.test'] }],
            })),
            {
              slug: 'primary',
              name: 'Primary',
              timezone: 'UTC',
              layers: [{ name: 'Week', every: '1w', from: '2026-01-05T09:00', users: [[me, 'grace@demo.test']] }],
            },
            {
              slug: 'later',
              name: 'Later',
              timezone: 'UTC',
              layers: [
                {
                  name: 'Week',
                  every: '1w',
                  from: new Date(later).toISOString().slice(0, 16),
                  users: [me, 'grace@demo.test'],
                },
              ],
            },
          ],
          applications: [
            {
              slug: 'web',
              name: 'Web',
              events: [
                {
                  slug: 'page',
                  name: 'Page',
                  notifications: [{ name: 'page', recipients: { schedule: 'primary' }, steps, message }],
                },
              ],
            },
          ],
        },
      ],
    },
  ],
};

/** Allows notifications, and subscribes with the keys of the local push service: Chromium's own is not reachable. */
const allowPush = (subscription: object) => `{
  Object.defineProperty(Notification, 'permission', { get: () => 'granted' });
  Notification.requestPermission = async () => 'granted';
  const made = { toJSON: () => (${JSON.stringify(subscription)}), unsubscribe: async () => true };
  PushManager.prototype.subscribe = async () => { localStorage.setItem('subscribed', '1'); return made; };
  PushManager.prototype.getSubscription = async () => localStorage.getItem('subscribed') ? made : null;
}`;

/** In the service worker: records notifications by tag, as a phone would show them. */
const recordNotifications = `{
  self.notifications = new Map();
  ServiceWorkerRegistration.prototype.showNotification = async (title, { body, tag, data, actions = [] }) => {
    self.notifications.set(tag, { title, body, data, actions, close() {} });
  };
}`;

async function trigger(title: string): Promise<string> {
  const path = '/api/o/demo/p/shop/a/web/e/page/trigger/';
  const { body } = await open.ask({ method: 'POST', path, body: { context: { title } } });
  return body.occurrence;
}

/** Waits for the message of an occurrence, and hands it to the service worker. */
async function arrive(occurrence: string): Promise<void> {
  const data = await waitFor('the push message', async () => push.messages.find(one => one.includes(occurrence)));
  await devTools.send('ServiceWorker.deliverPushMessage', { origin: open.service.address, registrationId, data });
}

/** Presses a button of the notification that is shown for an occurrence. */
const press = (occurrence: string, action: string) =>
  worker.evaluate(`(async () => {
    const works = [];
    const pressed = { action: '${action}', notification: self.notifications.get('${occurrence}'), waitUntil: work => works.push(work) };
    const event = new Event('notificationclick');
    for (const [name, value] of Object.entries(pressed)) Object.defineProperty(event, name, { value });
    dispatchEvent(event);
    await Promise.all(works);
  })()`);

/** Returns title, text and buttons of what is shown for an occurrence. */
const shown = (occurrence: string) =>
  worker.evaluate<[string, string, string[]]>(`(() => {
    const { title, body, actions } = self.notifications.get('${occurrence}') ?? { actions: [] };
    return [title, body, actions.map(one => one.title)];
  })()`);

const answersOf = async (occurrence: string) =>
  (await open.ask({ path: `/api/o/demo/occurrence/${occurrence}/` })).body;

test('a page that arrives by push is acknowledged in its notification, and on the page, without a connection and later', async () => {
  const started = page.context().waitForEvent('serviceworker');
  await page.goto('/o/demo/pager');
  worker = await started;
  await worker.evaluate(recordNotifications);
  await page.getByText('Primary: on call').waitFor();
  // Also the end of a shift that lasts for longer than the time that is shown.
  const lastDay = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' }).format(later + 7 * dayMs);
  await page.getByRole('region', { name: 'Your next shifts' }).getByText(`– ${lastDay}, `).waitFor();
  await page.getByText('Nothing is open').waitFor();
  await page.getByRole('switch', { name: 'Wake this device' }).click();
  await page.getByText(`Registered for ${me}.`).waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('The test was handed to the push service').waitFor();
  expect(push.messages.map(one => JSON.parse(one).title)).toEqual(['A test from Belfry']);

  const disk = await trigger('Disk full');
  await arrive(disk);
  await eventually(async () =>
    expect(await shown(disk)).toEqual(['Disk full', 'Please look at it.', ['Acknowledge', 'Snooze 1 h']]),
  );
  await page.getByRole('button', { name: /^Disk full/ }).waitFor();
  await page.context().setOffline(true);
  await press(disk, 'a');
  expect(await shown(disk)).toEqual(['Not sent yet: Disk full', expect.stringContaining('as soon as'), []]);
  const responses = page.getByRole('region', { name: 'Your responses' });
  await responses.getByText('Acknowledge: Disk full').waitFor();
  await responses.getByText('Not sent yet').waitFor();
  expect(await answersOf(disk)).toMatchObject({ acknowledged_by: null });
  await page.context().setOffline(false);
  await responses.getByText(`Acknowledged by ${me} by push`).waitFor();
  expect(await answersOf(disk)).toMatchObject({ acknowledged_by: `${me} by push` });
  await responses.getByRole('button', { name: 'Dismiss the answer about Disk full' }).click();

  const power = await trigger('Power lost in the data center and in both of its neighbors, until further notice');
  await arrive(power);
  await page.getByRole('button', { name: /^Power lost/ }).click();
  expect(await axeViolations(page)).toEqual([]);
  const acknowledge = page
    .getByRole('region', { name: 'Respond to Power lost' })
    .getByRole('button', { name: 'Acknowledge' });
  const { x, width } = (await acknowledge.boundingBox())!;
  expect(x + width).toBeLessThan(phone.width);
  await page.context().setOffline(true);
  await acknowledge.click();
  await responses.getByText('Acknowledge: Power lost').waitFor();
  await takeScreenshots(page, 'pager-offline');
  // The pager starts without a connection, too.
  await page.reload();
  await responses.getByText('Acknowledge: Power lost').waitFor();
  const path = `/api/o/demo/occurrence/${power}/acknowledge/?user=grace@demo.test`;
  expect((await open.ask({ method: 'POST', path })).status).toBe(200);
  await page.context().setOffline(false);
  await responses.getByText(/Acknowledged before by grace@demo.test/).waitFor();
  await page.getByText('Nothing is open').waitFor();
});
