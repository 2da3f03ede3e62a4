/** What all email providers share: settings, addresses, headers, and the Message-ID, which is the same at every attempt. */
import { domainToASCII } from 'node:url';
import addressparser from 'nodemailer/lib/addressparser';
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { endpoint as apiEndpoint } from '../fields.ts';
import type { Outgoing } from '../sending.ts';

export const From = Type.String({
  format: 'mailbox',
  maxLength: 512,
  description: 'The sender, such as Acme <no-reply@acme.test>.',
  examples: ['Acme <no-reply@acme.test>'],
});
export const ReplyTo = optionalString({
  format: 'mailbox',
  maxLength: 512,
  description: 'The address for replies. Default: the sender.',
});
export { join, secretKey, TimeoutMs, webhookCredentials, webhookSecret } from '../fields.ts';

export function endpoint(defaultUrl: string) {
  return apiEndpoint(defaultUrl, "a region's");
}

export interface Mailbox {
  name: string;
  address: string;
  /** The domain of the address in its ASCII form. */
  domain: string;
}

export function toMailbox(text: string): Mailbox {
  const [mailbox] = addressparser(text, { flatten: true });
  const address = mailbox?.address || text;
  const domain = address.slice(address.lastIndexOf('@') + 1);
  return { name: mailbox?.name ?? '', address, domain: domainToASCII(domain) || domain };
}

/** Returns the Message-ID without angle brackets: `id@domain-of-the-sender`. */
export function messageId(outgoing: Outgoing, from: Mailbox): string {
  return `${outgoing.id}@${from.domain}`;
}

/**
 * Returns the headers of an email besides its addresses, subject and dates, for SMTP and for services that accept headers. Values
 * are ASCII. Auto-Submitted (RFC 3834) keeps out-of-office replies away. `feedbackId` is the sender's id at Gmail.
 */
export function headersOf(outgoing: Outgoing, from: Mailbox, feedbackId?: string): Record<string, string> {
  const { organization, event, notification } = outgoing.tags;
  const { category } = outgoing;
  return {
    'Auto-Submitted': 'auto-generated',
    ...(feedbackId && { 'Feedback-ID': [event, organization, notification].map(toLabel).concat(feedbackId).join(':') }),
    ...(category && { 'List-Id': `<${category}.${organization}.${from.domain}>` }),
    ...unsubscribeHeaders(outgoing),
  };
}

/** RFC 8058: mail clients show a button, which sends a POST to the URL. */
function unsubscribeHeaders({ unsubscribeUrl }: Outgoing): Record<string, string> {
  if (unsubscribeUrl === undefined) return {};
  return { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

/** For providers whose labels may contain only letters, digits, dashes and underscores. */
export function toLabel(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 256) || '_';
}

/** Returns the parts that are not empty: providers reject an empty part, and an email without any. */
export function bodies({ content }: Outgoing): { text?: string; html?: string } {
  const text = content.text || (content.html ? undefined : ' ');
  return { ...(text && { text }), ...(content.html && { html: content.html }) };
}

/**
 * Returns subject and bodies in which a service finds no variables, for those that replace variables in every message. `opening`
 * matches the first character of what they replace, which a text then keeps apart from the next one, invisibly.
 */
export function withoutVariables(
  outgoing: Outgoing,
  opening = /(?!)/,
): { subject: string; text?: string; html?: string } {
  const { text, html } = bodies(outgoing);
  const inText = (value: string) => value.replace(opening, '$&\u2060');
  const inHtml = (value: string) => value.replace(opening, found => `&#${found.charCodeAt(0)};`);
  return {
    subject: inText(outgoing.content.title),
    ...(text && { text: inText(text) }),
    ...(html && { html: inHtml(html) }),
  };
}

/** Returns a mailbox as most APIs write it. */
export function toContact({ name, address }: Mailbox): { email: string; name?: string } {
  return { email: address, ...(name && { name }) };
}
