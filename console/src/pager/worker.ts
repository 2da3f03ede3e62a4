/**
 * The service worker of the console, served at /console-sw.js for the pages below /o/. It keeps the files of the pager for a
 * start without connection, shows push messages with their buttons, and sends responses that wait. It stores no answer of
 * the API.
 */
import { texts } from '../texts/pager.ts';
import { isWaiting, listResponses, type Outcome, respond, type StoredResponse, sendWaiting } from './responses.ts';
import { announce } from './store.ts';

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends WorkerEvent {
  request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface PushEvent extends WorkerEvent {
  data: { json(): Message } | null;
}
interface ClickEvent extends WorkerEvent {
  action: string;
  notification: Notification;
}
interface Scope extends EventTarget {
  /** Set by the build: the version, and the files of the pager. */
  belfryShell: { version: string; files: string[] };
  location: Location;
  registration: ServiceWorkerRegistration & { sync?: { register(tag: string): Promise<void> } };
  clients: {
    claim(): Promise<void>;
    matchAll(options: object): Promise<{ url: string; focus(): Promise<unknown>; postMessage(data: object): void }[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
}

/** What the provider sends: see vapid.ts. */
interface Message {
  /** The occurrence and the delivery. */
  id: string;
  title: string;
  body?: string;
  data?: { url?: string };
  organization?: string;
  actions?: Action[];
  respond_url?: string;
}
interface Action {
  /** `a` acknowledges, `b` all of a bundle, `s` snoozes. */
  choice: string;
  label: string;
  token: string;
}
/** What is kept with a notification. */
interface Kept extends Message {
  occurrence: string;
}

const scope = globalThis as unknown as Scope;
const { version, files } = scope.belfryShell;
const cacheName = `belfry-pager-${version}`;
/** Any page of the console is this one. */
const page = '/o/';
/** A weak connection must not delay the page more than this. */
const pageTimeoutMs = 4_000;
const syncTag = 'belfry-pager-responses';
const icon = '/icon-192.png';

const on = <E extends WorkerEvent>(type: string, handle: (event: E) => unknown) =>
  scope.addEventListener(type, event => handle(event as E));

on('install', event => event.waitUntil(install()));
on('activate', event => event.waitUntil(activate()));

/** A new release takes over at once: pages ask the service first anyway, and names of files contain their hash. */
async function install(): Promise<void> {
  const cache = await caches.open(cacheName);
  const shown = new Request(page, { headers: { accept: 'text/html' }, cache: 'no-cache' });
  await cache.addAll([shown, ...files]);
  await scope.skipWaiting();
}

async function activate(): Promise<void> {
  for (const name of await caches.keys())
    if (name.startsWith('belfry-pager-') && name !== cacheName) await caches.delete(name);
  await scope.clients.claim();
}

on<FetchEvent>('fetch', event => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== scope.location.origin) return;
  if (request.mode === 'navigate') event.respondWith(loadPage(request));
  else if (files.includes(pathname)) event.respondWith(loadFile(request));
});

async function loadPage(request: Request): Promise<Response> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), pageTimeoutMs);
  const answer = await fetch(request, { signal: controller.signal }).catch(() => undefined);
  clearTimeout(timer);
  if (answer && answer.status < 500) return answer;
  return (await caches.match(page, { ignoreVary: true })) ?? answer ?? Response.error();
}

async function loadFile(request: Request): Promise<Response> {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}

on<PushEvent>('push', event => {
  const message = event.data?.json();
  if (message) event.waitUntil(Promise.all([show(message), sendLater()]));
});

async function show(message: Message): Promise<void> {
  const [occurrence = ''] = message.id.split('.');
  const { title, body = '', actions = [] } = message;
  const kept: Kept = { ...message, occurrence };
  await notify(title, {
    body,
    // A later step replaces the message of an earlier one, and alerts again.
    tag: occurrence,
    renotify: true,
    requireInteraction: actions.length > 0,
    data: kept,
    actions: actions.map(({ choice, label }) => ({ action: choice, title: label })),
  });
  announce('arrived');
}

function notify(title: string, options: object): Promise<void> {
  return scope.registration.showNotification(title, { icon, badge: icon, ...options });
}

on<ClickEvent>('notificationclick', event => {
  const { notification, action } = event;
  notification.close();
  const kept = (notification.data ?? {}) as Partial<Kept>;
  const pressed = kept.actions?.find(({ choice }) => choice === action);
  event.waitUntil(pressed ? press(kept as Kept, pressed) : open(kept));
});

async function press(kept: Kept, { choice, token }: Action): Promise<void> {
  const { organization: org = '', occurrence, title, respond_url: url = '' } = kept;
  const action = choice === 's' ? 'snooze' : 'acknowledge';
  const outcome = await respond({ org, occurrence, title, action, button: { url, token } });
  if (outcome) return report(kept, outcome);
  await notify(texts.notSentTitle(title), {
    body: texts.notSentHint,
    tag: occurrence,
    requireInteraction: true,
    data: { organization: org, occurrence },
  });
  await scope.registration.sync?.register(syncTag).catch(() => undefined);
}

/** Says what became of it: someone else may have been faster. */
function report(
  { occurrence, title, organization }: Pick<Kept, 'occurrence' | 'title' | 'organization'>,
  { state, text }: Outcome,
) {
  const body = state === 'refused' ? texts.refused(text) : text;
  return notify(title, { body, tag: occurrence, silent: true, data: { organization, occurrence } });
}

/** Sends what waits. What was pressed in a notification is answered there. */
async function sendLater({ now = false } = {}): Promise<void> {
  for (const { response, outcome } of await sendWaiting({ now }))
    if (response.button) await report(toKept(response), outcome);
}

const toKept = ({ org, occurrence, title }: StoredResponse) => ({ organization: org, occurrence, title });

on<WorkerEvent & { tag: string }>('sync', event => {
  if (event.tag === syncTag) event.waitUntil(sync());
});

/** Fails while something waits: the browser then repeats it later. */
async function sync(): Promise<void> {
  await sendLater({ now: true });
  if ((await listResponses()).some(isWaiting)) throw new Error('responses wait for a connection');
}

async function open({ organization, occurrence, actions = [], data }: Partial<Kept>): Promise<void> {
  const query = occurrence && occurrence !== 'test' ? `?incident=${encodeURIComponent(occurrence)}` : '';
  const pager = organization ? `/o/${encodeURIComponent(organization)}/pager` : page;
  const target = new URL(actions.length === 0 && data?.url ? data.url : pager + query, scope.location.origin);
  const windows = await scope.clients.matchAll({ type: 'window' });
  const shown = windows.find(({ url }) => new URL(url).pathname === target.pathname);
  if (!shown) return void (await scope.clients.openWindow(target.href));
  shown.postMessage({ open: target.pathname + target.search });
  await shown.focus();
}
