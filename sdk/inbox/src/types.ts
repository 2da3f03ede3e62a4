/** What the API of an inbox answers: see the reference at /docs of your Belfry. */
export interface InboxAction {
  name: string;
  label: string;
  /** Null: it triggers an event, or acknowledges the occurrence. */
  url: string | null;
}

export interface MessageStates {
  id: number;
  seen_at: string | null;
  read_at: string | null;
  archived_at: string | null;
  acted_at: string | null;
  /** Name of the action that was taken. */
  action: string | null;
}

export interface InboxMessage extends MessageStates {
  occurrence: string;
  title: string;
  body: string;
  category: string | null;
  avatar: string | null;
  actions: InboxAction[];
  created_at: string;
}

export interface InboxCounts {
  unread: number;
  unseen: number;
}

/** What a stream tells. */
export type InboxEvent =
  | { event: 'ready' | 'reset'; id: number; data: InboxCounts }
  | { event: 'message'; id: number; data: InboxMessage & InboxCounts }
  | { event: 'update'; id: number; data: { messages: MessageStates[] } & InboxCounts };

export type InboxFilter = 'all' | 'unread' | 'archived';

export interface InboxOptions {
  /** Where Belfry is, such as https://notify.example.com. In a browser, absent: where the page is. */
  url?: string;
  /** Slug of the organization. */
  organization: string;
  username: string;
  /** A token of this person, from your server. */
  token?: string;
  /** Asks your server for a new one, when there is none or the last one has expired. */
  getToken?: () => string | Promise<string>;
  /** Messages at a time; 20. */
  pageSize?: number;
}

export interface InboxState extends InboxCounts {
  /** `loading` until the first page is there, `offline` while it is tried again, `error` when trying is no use. */
  status: 'loading' | 'ready' | 'offline' | 'error';
  /** Of the status `error`, in English. */
  problem: string | undefined;
  filter: InboxFilter;
  /** The newest first. */
  messages: readonly InboxMessage[];
  hasMore: boolean;
}
