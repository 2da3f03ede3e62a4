/** What all email providers share: settings, addresses, and the one Message-ID that a delivery keeps at every attempt. */
import addressparser from 'nodemailer/lib/addressparser';
import { Type } from 'typebox';
import type { Outgoing } from '../sending.ts';

export const From = Type.String({
  format: 'mailbox',
  maxLength: 512,
  description: 'Who it comes from: Acme <no-reply@acme.test>',
  examples: ['Acme <no-reply@acme.test>'],
});
export const ReplyTo = Type.Optional(
  Type.String({ format: 'mailbox', maxLength: 512, description: 'Where replies go. Absent: to the sender.' }),
);
export const TimeoutMs = Type.Optional(
  Type.Integer({
    minimum: 100,
    maximum: 300_000,
    description: 'How long to wait for an answer, in milliseconds. Absent: 10000.',
  }),
);

/** An address of an HTTP API, and what is taken when it is absent. */
export function endpoint(usual: string) {
  return Type.Optional(
    Type.String({
      destination: true,
      maxLength: 2048,
      // A password in the address would be stored and exported in the clear.
      pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
      patternHint: 'must be an http or https address without a user name or a query in it',
      description: `Another address of the API, such as a region's. Absent: ${usual}.`,
    }),
  );
}

/** Base and path, with one slash between them. */
export function join(base: string, path: string): string {
  return `${base.replace(/\/+$/, '')}${path}`;
}

/** A key that goes into a header: visible characters only. */
export function secretKey(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: 512,
    pattern: '^[!-~]+$',
    patternHint: 'must be without spaces',
    secret: true,
    description,
  });
}

export interface Mailbox {
  name: string;
  address: string;
}

export function toMailbox(text: string): Mailbox {
  const [mailbox] = addressparser(text, { flatten: true });
  return { name: mailbox?.name ?? '', address: mailbox?.address || text };
}

/** Without its angle brackets: `id@domain-of-the-sender`. */
export function messageId(outgoing: Outgoing, from: Mailbox): string {
  return `${outgoing.id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}`;
}

/** RFC 8058: mail clients show a button, and a POST to the address unsubscribes. */
export function unsubscribeHeaders({ unsubscribeUrl }: Outgoing): Record<string, string> {
  if (unsubscribeUrl === undefined) return {};
  return { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

/** For providers whose labels may hold only letters, digits, dashes and underscores. */
export function toLabel(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 256) || '_';
}

/** The parts there are. Providers reject an empty one, and a mail without any. */
export function bodies({ content }: Outgoing): { text?: string; html?: string } {
  const text = content.text || (content.html ? undefined : ' ');
  return { ...(text && { text }), ...(content.html && { html: content.html }) };
}
