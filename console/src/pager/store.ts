/** What the pages and the service worker of the pager share: IndexedDB, and a channel that announces changes. */

const stores = { responses: 'id', browsers: 'org' } as const;
type Store = keyof typeof stores;

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('belfry-pager', 1);
    request.onupgradeneeded = () => {
      for (const [name, keyPath] of Object.entries(stores)) request.result.createObjectStore(name, { keyPath });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function run<T>(
  name: Store,
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const db = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = db.transaction(name, mode);
      const request = act(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    db.close();
  }
}

export const readAll = <T>(name: Store): Promise<T[]> => run(name, 'readonly', store => store.getAll());
export const readOne = <T>(name: Store, key: string): Promise<T | undefined> =>
  run(name, 'readonly', store => store.get(key));
export const write = (name: Store, value: object) => run(name, 'readwrite', store => store.put(value));
export const remove = (name: Store, key: string) => run(name, 'readwrite', store => store.delete(key));

/** A browser that is registered for web push, by organization. */
export interface RegisteredBrowser {
  org: string;
  username: string;
  subscription: { endpoint: string; keys: { p256dh: string; auth: string } };
}

const channel = new BroadcastChannel('belfry-pager');

/** `arrived`: a message arrived by push. `responses`: a response was sent, refused or discarded. */
export type Change = 'arrived' | 'responses';

/** Announces a change to all pages and the service worker, and to this one. */
export function announce(change: Change): void {
  channel.postMessage(change);
  channel.dispatchEvent(new MessageEvent('message', { data: change }));
}

/** Returns a function that ends it. */
export function listen(listener: (change: Change) => void): () => void {
  const onMessage = ({ data }: MessageEvent<Change>) => listener(data);
  channel.addEventListener('message', onMessage);
  return () => channel.removeEventListener('message', onMessage);
}
