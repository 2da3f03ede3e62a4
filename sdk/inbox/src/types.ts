/** Types of the inbox API: see the reference at /docs of your Belfry. */
export interface InboxAction {
  name: string;
  label: string;
  /** Null if the action triggers an event or acknowledges the occurrence. */
  url: string | null;
}

export interface MessageStates {
  id: number;
  seen_at: string | null;
  read_at: string | null;
  archived_at: string | null;
  acted_at: string | null;
  /** Name of the action that the user took. */
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

/** An event of the stream. */
export type InboxEvent =
  | { event: 'ready' | 'reset'; id: number; data: InboxCounts }
  | { event: 'message'; id: number; data: InboxMessage & InboxCounts }
  | { event: 'update'; id: number; data: { messages: MessageStates[] } & InboxCounts };

export type InboxFilter = 'all' | 'unread' | 'archived';

export interface InboxOptions {
  /** URL of Belfry, such as https://notify.example.com. Default in a browser: the origin of the page. */
  url?: string;
  /** Slug of the organization. */
  organization: string;
  username: string;
  /** A token for this user, from your server. */
  token?: string;
  /** Requests a new token from your server if there is none or it has expired. */
  getToken?: () => string | Promise<string>;
  /** Messages per page. Default: 20. */
  pageSize?: number;
}

export interface InboxState extends InboxCounts {
  /** `loading` until the first page has arrived, `offline` while reconnecting, `error` if retrying is pointless. */
  status: 'loading' | 'ready' | 'offline' | 'error';
  /** Error message in English, with the status `error`. */
  problem: string | undefined;
  filter: InboxFilter;
  /** Newest first. */
  messages: readonly InboxMessage[];
  hasMore: boolean;
}
