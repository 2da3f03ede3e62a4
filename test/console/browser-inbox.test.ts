/**
 * The inbox embedded in another application's page, in a real Chromium: another origin, a CSP without inline code, and a
 * connection that can be cut.
 *
 * @module-tag browser
 */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { buildConsole } from '../../scripts/console.ts';
import { asker } from '../support/api.ts';
import { axeViolations, openBrowser, type Visit, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

const ann = 'ann@x.test';
const inApp = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };
const actions = [
  { name: 'approve', label: 'Approve', event: 'go' },
  { name: 'open', label: 'Details', url: '/details' },
];

let browser: Browser;
let world: EngineWorld;
let tenant: Tenant;
let pages: Server;
let origin: string;
let proxy: CutProxy;
let tokenLife = '1h';
let tokensGiven = 0;
let reactBundle = '';
const visits: Visit[] = [];

beforeAll(async () => {
  await buildConsole();
  browser = await openBrowser();
  pages = createServer(
    (request, response) =>
      void answer(request.url ?? '/').then(each => {
        response.writeHead(each.status ?? 200, { 'content-type': each.type, 'content-security-policy': policy() });
        response.end(each.body);
      }),
  );
  await new Promise<void>(resolve => pages.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  world = await openWorld({ CORS_ORIGINS: origin });
  proxy = await CutProxy.open(world.service.address);
  reactBundle = await bundleReact();
});
afterEach(async () => {
  for (const one of visits.splice(0)) await one.close();
  tokenLife = '1h';
});
afterAll(async () => {
  await browser.close();
  await proxy.close();
  await world.close();
  pages.closeAllConnections();
  pages.close();
});

/** CSP of the page: only resources of the page itself and of Belfry. */
function policy(): string {
  const belfry = `${world.service.address} ${proxy.address}`;
  return `default-src 'self'; script-src 'self' ${world.service.address}; connect-src 'self' ${belfry}`;
}

async function answer(url: string): Promise<{ status?: number; type: string; body: string }> {
  const { pathname, searchParams } = new URL(url, origin);
  if (pathname === '/token') {
    tokensGiven++;
    const { body } = await tenant.post(`/api/o/${tenant.slug}/u/${ann}/token/`, { expires_in: tokenLife });
    return { type: 'application/json', body: JSON.stringify(body) };
  }
  if (pathname === '/page.js') return { type: 'text/javascript', body: pageScript };
  if (pathname === '/react.js') return { type: 'text/javascript', body: reactBundle };
  if (pathname === '/inbox-sw.js') {
    const body = `importScripts('${world.service.address}/inbox-sw.js')`;
    return { type: 'text/javascript', body };
  }
  if (pathname === '/favicon.ico') return { type: 'image/x-icon', body: '' };
  const lang = searchParams.get('lang') ?? 'en';
  const dir = searchParams.get('dir') ?? 'ltr';
  const theme = searchParams.get('theme') ?? 'light';
  const attributes = `url="${proxy.address}" organization="${tenant.slug}" username="${ann}"`;
  const scripts = `<script type="module" src="${world.service.address}/inbox.js"></script><script type="module" src="/page.js"></script>`;
  const plain = `<belfry-inbox ${attributes} theme="${theme}"></belfry-inbox>${scripts}`;
  const react = `<div id="root" data-url="${proxy.address}" data-organization="${tenant.slug}" data-username="${ann}"></div><script type="module" src="/react.js"></script>`;
  const body = `<!doctype html><html lang="${lang}" dir="${dir}"><head><meta charset="utf-8"><title>Page</title><meta name="viewport" content="width=device-width"></head><body><main><h1>Page</h1>${pathname === '/react' ? react : plain}</main></body></html>`;
  return { type: 'text/html; charset=utf-8', body };
}

const pageScript = `
  const inbox = document.querySelector('belfry-inbox');
  inbox.getToken = async () => (await (await fetch('/token')).json()).token;
  window.arrived = [];
  inbox.addEventListener('belfry-message', event => window.arrived.push(event.detail.title));
`;

/** A proxy between the browser and Belfry that can cut open connections and reject new ones. */
class CutProxy {
  readonly address: string;
  isDown = false;
  readonly #server: ReturnType<typeof createTcpServer>;
  readonly #sockets: Set<Socket>;

  private constructor(server: ReturnType<typeof createTcpServer>, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(target: string): Promise<CutProxy> {
    const sockets = new Set<Socket>();
    const { hostname, port } = new URL(target);
    let self: CutProxy | undefined;
    const server = createTcpServer(client => {
      if (self?.isDown) return client.destroy();
      const upstream = connect(Number(port), hostname);
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream).pipe(client);
      return undefined;
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    self = new CutProxy(server, sockets);
    return self;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise(resolve => this.#server.close(resolve));
  }
}

async function bundleReact(): Promise<string> {
  const source = fileURLToPath(new URL('../../sdk/inbox/src/react.tsx', import.meta.url));
  const entry = `
    import { createElement as h, useState } from 'react';
    import { createRoot } from 'react-dom/client';
    import { BelfryInbox, useInbox } from ${JSON.stringify(source)};
    const { url, organization, username } = document.querySelector('#root').dataset;
    const getToken = async () => (await (await fetch('/token')).json()).token;
    function App() {
      const [last, setLast] = useState('nothing');
      const own = useInbox({ url, organization, username, getToken });
      return h('div', {}, h(BelfryInbox, { url, organization, username, getToken, onMessage: message => setLast(message.title) }),
        h('p', { id: 'last' }, last), h('p', { id: 'count' }, String(own.unread)));
    }
    createRoot(document.querySelector('#root')).render(h(App));`;
  const bundle = await rolldown({
    input: 'entry.js',
    // It warns that it ignores 'use client'.
    logLevel: 'silent',
    platform: 'browser',
    cwd: path.dirname(fileURLToPath(new URL('../../package.json', import.meta.url))),
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [
      {
        name: 'entry',
        resolveId: id => (id === 'entry.js' ? path.resolve('entry.js') : null),
        load: id => (id === path.resolve('entry.js') ? entry : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  return output[0].code;
}

async function fresh(message: object = {}): Promise<void> {
  tenant = await world.tenant({
    users: [{ email: ann, first_name: 'Ann' }],
    channels: [inApp],
    notifications: [
      { channels: ['inbox'], message: { subject: 'Order {{ n }}', body: 'It is **paid**.', ...message } },
    ],
  });
}

const send = async (n: number) => tenant.trigger({ limit_to: [ann] }, { n });

async function openTab(query = '/', options = {}): Promise<Page> {
  const one = await visit(browser, origin, options);
  visits.push(one);
  await one.page.goto(query);
  return one.page;
}

/** Opens another tab of the same browser. */
async function openSecondTab(): Promise<Page> {
  const page = await visits[0]!.context.newPage();
  page.on('pageerror', error => visits[0]!.complaints.push(String(error)));
  await page.goto('/');
  return page;
}

const bell = (page: Page) =>
  page
    .locator('belfry-inbox')
    .getByRole('button', { name: /Notifications|Benachrichtigungen/ })
    .first();
const badge = (page: Page) => page.locator('belfry-inbox .badge');
const items = (page: Page) => page.locator('belfry-inbox li');
const arrived = (page: Page) => page.evaluate<string[]>('window.arrived');
const isLive = () => eventually(() => expect(world.service.runtime.deps.inboxStreams.count).toBeGreaterThan(0));
const says = async (page: Page, count: string) => {
  await eventually(async () => expect(await badge(page).textContent()).toBe(count), 8_000);
};

test('shows new messages without a reload, accessible by keyboard and screen reader, in light and dark mode', async () => {
  await fresh({ actions });
  const page = await openTab();
  await isLive();
  await send(1);
  await says(page, '1');
  await send(2);
  await says(page, '2');
  expect(await bell(page).getAttribute('aria-label')).toBe('Notifications, 2 unread');
  expect(await page.locator('belfry-inbox [aria-live]').textContent()).toBe('New notification: Order 2');

  await bell(page).focus();
  await page.keyboard.press('Enter');
  await eventually(async () => expect(await items(page).count()).toBe(2));
  const focused = () => page.evaluate('document.querySelector("belfry-inbox").shadowRoot.activeElement?.textContent');
  expect(await focused()).toContain('Order 2');
  await page.keyboard.press('ArrowDown');
  expect(await focused()).toContain('Order 1');
  expect(await axeViolations(page)).toEqual([]);
  await page.locator('belfry-inbox').evaluate(inbox => inbox.setAttribute('theme', 'dark'));
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await says(page, '1');
  expect(await focused()).toContain('Order 1');
  await page.keyboard.press('Escape');
  expect(await page.locator('belfry-inbox .panel').isHidden()).toBe(true);
  expect(await page.evaluate('document.querySelector("belfry-inbox").shadowRoot.activeElement?.className')).toBe(
    'bell',
  );
  // The page does not wait for the service to store it; the seen state is stored as well.
  await eventually(async () => {
    const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/u/${ann}/inbox/counts/` });
    expect(body).toEqual({ unread: 1, unseen: 0 });
  });
});

test('two tabs share one stream and stay in sync, even after the first one is closed', async () => {
  await fresh();
  const first = await openTab();
  const second = await openSecondTab();
  await isLive();
  await send(1);
  await says(first, '1');
  await says(second, '1');
  expect(world.service.runtime.deps.inboxStreams.count).toBe(1);
  await bell(first).click();
  await items(first).getByRole('button', { name: 'Mark as read: Order 1' }).click();
  await eventually(async () => expect(await badge(second).isHidden()).toBe(true), 1_000);
  await first.close();
  await send(2);
  await says(second, '1');
  expect(await arrived(second)).toEqual(['Order 1', 'Order 2']);
});

test('a broken connection resumes without loss or duplicates', { tags: ['sweep'] }, async () => {
  await fresh();
  const page = await openTab();
  await isLive();
  await send(1);
  await says(page, '1');
  proxy.isDown = true;
  proxy.cut();
  await bell(page).click();
  await page.locator('belfry-inbox').getByText('You’re offline').waitFor();
  for (const n of [2, 3]) await tenant.outcomes(await send(n));
  proxy.isDown = false;
  await says(page, '3');
  await send(4);
  await says(page, '4');
  expect(await arrived(page)).toEqual(['Order 1', 'Order 2', 'Order 3', 'Order 4']);
  await eventually(async () => expect(await items(page).count()).toBe(4));
  expect(await page.locator('belfry-inbox .notice').isHidden()).toBe(true);
  // The browser logs each failed connection.
  visits[0]!.complaints.splice(0);
});

test('continues with a new token when the first one has expired', { tags: ['sweep'] }, async () => {
  await fresh();
  tokenLife = '2s';
  const page = await openTab();
  await isLive();
  const before = tokensGiven;
  await eventually(() => expect(tokensGiven).toBeGreaterThan(before), 30_000);
  await send(1);
  await says(page, '1');
  await send(2);
  await eventually(async () => expect(await arrived(page)).toEqual(['Order 1', 'Order 2']), 10_000);
});

test('archives, filters, marks all as read and runs actions', { tags: ['sweep'] }, async () => {
  await fresh({ actions });
  for (const n of [1, 2, 3]) await tenant.outcomes(await send(n));
  const page = await openTab();
  await says(page, '3');
  await bell(page).click();
  const inbox = page.locator('belfry-inbox');
  await inbox.getByRole('button', { name: 'Archive: Order 2' }).click();
  await says(page, '2');
  await eventually(async () => expect(await items(page).count()).toBe(2));
  await items(page).filter({ hasText: 'Order 1' }).getByRole('button', { name: 'Approve' }).click();
  await items(page).filter({ hasText: 'Order 1' }).getByRole('button', { name: '✓ Approve' }).waitFor();
  // The approve action triggers an event, here the same one.
  await eventually(async () => expect(await items(page).count()).toBe(3));
  await says(page, '2');
  // The filter is changed before the service has stored that all are read.
  const { promise: isFiltered, resolve: filtered } = Promise.withResolvers<void>();
  await page.route('**/inbox/read/', route => isFiltered.then(() => route.continue()));
  await inbox.getByRole('button', { name: 'Mark all as read' }).click();
  await eventually(async () => expect(await badge(page).isHidden()).toBe(true));
  await inbox.getByRole('button', { name: 'Unread', exact: true }).click();
  await inbox.getByRole('button', { name: 'Unread', exact: true, pressed: true }).waitFor();
  filtered();
  await inbox.getByText('No unread notifications').waitFor();
  await inbox.getByRole('button', { name: 'Archived', exact: true }).click();
  await eventually(async () => expect(await items(page).count()).toBe(1));
  await inbox.getByRole('button', { name: 'Move to inbox: Order 2' }).click();
  await inbox.getByText('No archived notifications').waitFor();
  await inbox.getByRole('button', { name: 'All', exact: true }).click();
  await eventually(async () => expect(await items(page).count()).toBe(4));
});

test('uses the language of the page, including right-to-left, and fits a phone', { tags: ['sweep'] }, async () => {
  await fresh();
  await tenant.outcomes(await send(1));
  const page = await openTab('/?lang=de-AT&dir=rtl&theme=dark', { viewport: { width: 360, height: 700 } });
  await says(page, '1');
  await bell(page).click();
  await page.locator('belfry-inbox').getByRole('button', { name: 'Alle als gelesen markieren' }).waitFor();
  const { x, width } = (await page.locator('belfry-inbox .panel').boundingBox())!;
  expect([x, width]).toEqual([0, 360]);
  // Tags of POSIX locales, which Intl refuses.
  for (const tag of ['en_US', 'de_DE.UTF-8', 'en-US@posix', '-']) {
    await page.locator('belfry-inbox').evaluate((inbox, lang) => inbox.setAttribute('lang', lang), tag);
    await says(page, '1');
    expect(await items(page).locator('time').first().innerText()).not.toBe('');
  }
  expect(await axeViolations(page)).toEqual([]);
});

test('shows errors and an empty state', { tags: ['sweep'] }, async () => {
  await fresh();
  const page = await openTab();
  await isLive();
  await bell(page).click();
  await page.locator('belfry-inbox').getByText('You’re all caught up').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await page.locator('belfry-inbox').evaluate(inbox => inbox.setAttribute('username', 'nobody@x.test'));
  await page.locator('belfry-inbox').getByText('Couldn’t load notifications.').waitFor();
});

test('says that messages could not be loaded when the service fails, and loads them on request', {
  tags: ['sweep'],
}, async () => {
  await fresh();
  await tenant.outcomes(await send(1));
  const page = await openTab();
  await says(page, '1');
  const lists = /\/inbox\//;
  await page.route(lists, route => route.fulfill({ status: 503, json: {} }));
  await page.reload();
  await bell(page).click();
  const inbox = page.locator('belfry-inbox');
  await inbox.getByText('Couldn’t load notifications.').waitFor();
  expect(await inbox.innerText()).not.toMatch(/offline|caught up/);
  await page.unroute(lists);
  await inbox.getByRole('button', { name: 'Try again' }).click();
  await eventually(async () => expect(await items(page).count()).toBe(1));
  visits[0]!.complaints.splice(0);
});

test('works in React as a component and as a hook', { tags: ['sweep'] }, async () => {
  await fresh();
  const page = await openTab('/react');
  await isLive();
  await send(1);
  await says(page, '1');
  await eventually(async () => expect(await page.locator('#last').textContent()).toBe('Order 1'));
  await eventually(async () => expect(await page.locator('#count').textContent()).toBe('1'));
});

test('the script is small and cached', async () => {
  const ask = asker(world.service.address);
  const answer = await ask({ path: '/inbox.js' });
  expect(gzipSync(answer.text).length).toBeLessThan(30_000);
  expect(brotliCompressSync(answer.text).length).toBeLessThan(25_000);
  expect(answer.headers['access-control-allow-origin']).toBe('*');
  expect(answer.headers['cache-control']).toMatch(/max-age=3600/);
  const etag = answer.headers.etag!;
  expect((await ask({ path: '/inbox.js', headers: { 'if-none-match': etag } })).status).toBe(304);
  const forever = await ask({ path: `/inbox.js?v=${etag.replaceAll('"', '')}` });
  expect(forever.headers['cache-control']).toMatch(/immutable/);
  expect((await ask({ path: '/inbox-sw.js' })).text).toContain('showNotification');
  // The demo exists only for databases that Belfry started itself.
  expect((await ask({ path: '/inbox-demo' })).status).toBe(404);
  expect((await ask({ method: 'POST', path: '/inbox-demo/token' })).status).toBe(404);
});

test('asks for notification permission and registers the browser for web push', async () => {
  await fresh();
  await tenant.apply({
    channels: [
      inApp,
      { slug: 'push', name: 'Push', type: 'webpush', providers: [{ use: 'vapid', subject: 'mailto:a@x.test' }] },
    ],
    notifications: [],
  });
  // Browsers answer the permission prompt differently, and tests reach no push service: both are stubbed.
  const endpoint = 'https://push.test/browser';
  const one = await visit(browser, origin);
  visits.push(one);
  await one.context.addInitScript(`
    window.asked = [];
    const keys = { p256dh: 'B'.repeat(87), auth: 'a'.repeat(22) };
    const subscription = { options: {}, toJSON: () => ({ endpoint: '${endpoint}', keys }), unsubscribe: async () => true };
    let subscribed = null;
    let permission = location.hash === '#blocked' ? 'denied' : 'default';
    PushManager.prototype.getSubscription = async () => subscribed;
    PushManager.prototype.subscribe = async options => {
      window.asked.push(options.applicationServerKey.length);
      subscribed = subscription;
      return subscription;
    };
    Notification.requestPermission = async () => (permission = 'granted');
    Object.defineProperty(Notification, 'permission', { get: () => permission });
  `);
  const { page } = one;
  const openInbox = async (path: string) => {
    await page.goto(path);
    await page.locator('belfry-inbox').evaluate(inbox => inbox.setAttribute('push', ''));
    await bell(page).click();
  };
  await openInbox('/?blocked#blocked');
  await page.locator('belfry-inbox').getByText('Notifications are blocked').waitFor();
  await openInbox('/');
  const offer = page.locator('belfry-inbox').getByRole('button', { name: 'Notify me on this device' });
  await offer.waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await offer.click();
  await page.locator('belfry-inbox').getByText('Notifications are on for this device').waitFor();
  expect(await page.evaluate('window.asked')).toEqual([65]);
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/u/${ann}/address/` });
  const address = body.find((one: { name: string }) => one.name === 'webpush');
  expect(JSON.parse(address.value)).toMatchObject({ endpoint });
  // The real service worker is registered from the page's own origin.
  const worker = await page.evaluate('navigator.serviceWorker.ready.then(one => one.active.scriptURL)');
  expect(worker).toBe(`${origin}/inbox-sw.js`);
});
