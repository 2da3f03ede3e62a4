/**
 * The interface of providers: open with settings once, then send. An expected failure is a value that says whether a retry
 * may help; an exception is a bug.
 */
import type { Button } from '../core/message/buttons.ts';
import type { OccurrenceChange } from '../core/message/message-updates.ts';
import type { Content } from '../core/render/render.ts';
import type { FileContent } from '../lib/file-content.ts';
import type { Outbound } from '../lib/network/outbound.ts';

/** A file of a message. */
export interface Attachment {
  /** A file name without a path, control characters and quotes. */
  name: string;
  contentType: string;
  /** For an image that the HTML of an email refers to as `cid:` and this id; without angle brackets. */
  contentId?: string;
  /** Shared by all messages of the occurrence. */
  file: FileContent;
}

/** One message to one recipient by one channel. */
export interface Outgoing {
  /** The delivery's id, the same at every attempt. It becomes the Message-ID, idempotency key or webhook id. */
  id: string;
  /** An email address, phone number, chat id, URL or push subscription; empty if the settings define the destination. */
  address: string;
  content: Content;
  /** When the delivery was decided; the same at every attempt. */
  createdAt: Date;
  /** Its priority is urgent: a device may sound an alarm. */
  urgent?: true;
  /** The slug of the category, for emails of a category that recipients can leave. */
  category?: string;
  /** For emails with one-click unsubscribe (RFC 8058). */
  unsubscribeUrl?: string;
  /** Posting a key to it, with `/call` appended, acknowledges the occurrence; only for messages of steps. */
  acknowledgeUrl?: string;
  /** Buttons to show below the message; absent for test messages. See `buttons.ts` for what a service can show. */
  buttons?: readonly Button[];
  /** Where the service posts what was pressed, if it must be sent along. Absent without a public address. */
  interactionUrl?: string;
  /** The recipient's locale, such as `pt-BR`. */
  locale?: string;
  /** Returns the local part of the return path, by which a bounce mail is recognized. Absent for test messages. */
  returnPath?: () => string;
  /** Only for providers that declare `attaches`; absent if there are none. */
  attachments?: readonly Attachment[];
  /** The current span, for receivers that continue the trace. */
  traceparent?: string;
  /**
   * Asked by a provider that makes messages wait, right before it sends one: true, or whether to send it. If not, the
   * outcome is `withdrawn`.
   */
  mayStillSend?: () => true | Promise<boolean>;
  /** Labels for the provider's own console, if it supports them. */
  tags: { organization: string; event: string; notification: string };
}

export type Outcome =
  | {
      ok: true;
      /** The provider's id of the message. */
      id?: string;
    }
  | {
      ok: false;
      /** Whether the message may be sent again by the same provider. */
      retry: boolean;
      /** How long the provider asked to wait. */
      retryAfterSeconds?: number;
      /** The message may have been accepted: the answer was lost after it was sent. */
      unknown?: boolean;
      /**
       * Nothing was sent, for a cause within this machine, such as too few file descriptors. It costs no attempt and does not count
       * against the provider.
       */
      local?: true;
      /** This address will never work again: it is disabled or removed. */
      gone?: boolean;
      /**
       * What to check first: with wrong settings, the service would report every address as gone. Such an answer counts only once
       * another address was reached with the same settings.
       */
      doubt?: string;
      /** The failure concerns this recipient, or the server that its address leads to: it says nothing about the provider. */
      ofRecipient?: true;
      /** The mailbox is full: retried at longer intervals, also if the server calls it permanent. Implies `ofRecipient`. */
      mailboxFull?: true;
      /** The credentials in the settings were rejected. */
      denied?: true;
      /** Nothing was sent, because `mayStillSend` refused it. */
      withdrawn?: true;
      /** A readable reason with the provider's error message; never contains a secret. */
      reason: string;
    };

/** A message that was sent, with the content that it should have now. */
export interface SentMessage extends Pick<Outgoing, 'id' | 'address' | 'content' | 'createdAt'> {
  /** The provider's id of the message, as `send` returned it. */
  messageId: string;
  /** The line that the content ends with. */
  note: string;
  /** What happened to its occurrence. */
  change: OccurrenceChange;
}

export interface Sender {
  send(outgoing: Outgoing): Promise<Outcome>;
  /** Replaces the content of a message; repeating it is harmless. Present if the provider's `updates` include it. */
  update?(sent: SentMessage): Promise<Outcome>;
  /** Removes a message; one that is already gone is a success. Present if the provider's `updates` include it. */
  retract?(sent: SentMessage): Promise<Outcome>;
  /** How many messages it can have in flight, if that is few: others are rendered when it is their turn. */
  maxConcurrent?: number;
  /** Closes connections once messages in flight have ended. */
  close(): Promise<void>;
}

export interface AwsKeys {
  access_key_id: string;
  secret_access_key: string;
  session_token: string;
}

/** The AWS role that this process runs with. */
export interface AwsRole {
  /** Returns temporary keys if the organization may use the role. */
  get(organization: string): Promise<AwsKeys | Extract<Outcome, { ok: false }>>;
  /** Returns the operator's own address of a service, such as a VPC endpoint. */
  endpointOf(service: 'sesv2' | 'sns'): string | undefined;
}

/** The dependencies of providers. */
export interface Tools {
  outbound: Outbound;
  /** The host name of this installation's public address, by which it introduces itself to mail servers. */
  hostName?: string | undefined;
  /** The AWS role that this process runs with. Absent: the operator allows no organization to use it. */
  awsRole?: AwsRole | undefined;
}

/** The messages that a sender over HTTP has in flight: a slow peer delays no other channel. */
const maxHttpRequests = 32;

/** Creates a sender over HTTP, without anything to close. */
export function httpSender(send: Sender['send'], updates: Pick<Sender, 'update' | 'retract'> = {}): Sender {
  return { ...stateless(send), ...updates, maxConcurrent: maxHttpRequests };
}

/** Creates a sender without anything to close. */
export function stateless(send: Sender['send']): Sender {
  return { send, close: async () => {} };
}
