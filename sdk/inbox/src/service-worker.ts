/** Shows push messages, and opens the page on a click. Served at /inbox-sw.js; pages of another origin import it. */
interface PushEvent extends Event {
  data: { json(): { id: string; title: string; body?: string; data?: { url?: string } } } | null;
  waitUntil(work: Promise<unknown>): void;
}

interface ClickEvent extends Event {
  notification: Notification;
  waitUntil(work: Promise<unknown>): void;
}

interface WorkerScope extends EventTarget {
  registration: ServiceWorkerRegistration;
  clients: {
    matchAll(options: object): Promise<{ url: string; focus(): Promise<unknown> }[]>;
    openWindow(url: string): Promise<unknown>;
  };
  location: Location;
}

const scope = globalThis as unknown as WorkerScope;

scope.addEventListener('push', event => {
  const { data, waitUntil } = bound(event as PushEvent);
  const message = data?.json();
  if (!message) return;
  const { id, title, body = '' } = message;
  // The tag makes a repeated message replace the first one.
  waitUntil(scope.registration.showNotification(title, { body, tag: id, data: { url: message.data?.url } }));
});

scope.addEventListener('notificationclick', event => {
  const { notification } = event as ClickEvent;
  notification.close();
  const { url } = (notification.data ?? {}) as { url?: string };
  const open = async () => {
    const target = new URL(url ?? '/', scope.location.origin);
    const windows = await scope.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const shown = windows.find(one => (url === undefined ? true : one.url === target.href));
    await (shown ? shown.focus() : scope.clients.openWindow(target.href));
  };
  (event as ClickEvent).waitUntil(open());
});

function bound(event: PushEvent): Pick<PushEvent, 'data' | 'waitUntil'> {
  return { data: event.data, waitUntil: work => event.waitUntil(work) };
}
