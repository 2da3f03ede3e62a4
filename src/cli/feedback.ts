import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { FeedbackEvent } from '../core/feedback/event.ts';
import { lookUp } from '../core/lookup.ts';
import { flag, readArguments, runAction, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { listFeedback } from './feedback-list.ts';
import { printable } from './format.ts';

export const feedback: Command = {
  name: 'feedback',
  usage: 'read --provider NAME [--content-type TYPE] [--details] FILE… | list --org ORG',
  summary: 'Show what services and mail servers report about messages.',
  details: `read    Show what stored bounce mails or webhook bodies report, as JSON lines.

--provider NAME      smtp for mails; or the service that sent the webhook: ses, sendgrid, mailgun, postmark, resend, brevo,
                     sparkpost, mailjet, mailersend, mandrill, mailtrap, twilio, vonage, whatsapp
--content-type TYPE  Content-Type of the webhook, if it cannot be seen in the body, as in some forms
--details            also print the reporter's own words (text) and Belfry's id of the delivery (delivery_id)
FILE                 a file with one mail or one body, at most 10 MiB; or a folder, for all files in it and below,
                     except for hidden ones

Each line is one event of one recipient:
  file        the file
  type        delivered, bounced, deferred, complained, unsubscribed, opened or clicked
  permanent   of bounces and deferrals: true if no message will ever arrive at this address, else false; null for others
  reason      of bounces and deferrals: unknown_user, domain_missing, moved, suspended, mailbox_full, size, content,
              authentication, blocked, policy, relay_denied, rate_limited, network, expired, suppressed or other; null for
              others, except authentication for a complaint of a server and not of a person
  recipient   the address that the message was sent to, or null
  message_id  the id of that message, or null
  at          when, in ISO 8601, or null

Files that report nothing, such as vacation replies, print nothing. Files that cannot be read are listed on standard error,
and the exit code is then 1. Signatures are not checked. Needs no database and changes nothing.

list    List the newest events that an organization has received.
  --org ORG
  --type TYPE    only events of this type
  --unmatched    only events about messages that were not found
  --limit N      at most N events; default: 100
  --all          all events
  --json         print JSON`,
  examples: [
    'belfry feedback read --provider smtp bounces/',
    'belfry feedback read --provider postmark body.json',
    'belfry feedback list --org acme --type bounced',
    'belfry feedback read --provider smtp bounces/ | jq -r "select(.permanent) | .recipient"',
  ],
  run: runAction('feedback', { read, list: listFeedback }),
};

const maxBytes = 10 * 1024 * 1024;

async function read(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, { provider: string, 'content-type': string, details: flag });
  const readers = await terminal.loadFeedbackReaders();
  const { provider = '', 'content-type': contentType = '', details = false } = values;
  const reader = lookUp(readers, provider);
  if (!reader) {
    throw usageError(`--provider must be one of ${Object.keys(readers).join(', ')}`);
  }
  if (positionals.length === 0) throw usageError('name at least one file or folder: see `belfry help feedback`');
  let failed = false;
  for (const name of positionals) {
    for await (const { file, content } of contentsOf(name)) {
      try {
        for (const event of reader.read({ contentType, bytes: await content() })) {
          terminal.print(JSON.stringify(toLine(file, event, details)));
        }
      } catch (error) {
        failed = true;
        terminal.warn(`belfry: ${printable(file)} ${describe(error)}`);
      }
    }
  }
  return failed ? 1 : 0;
}

interface Content {
  file: string;
  content(): Promise<Buffer>;
}

/** Yields a file, or the files below a folder in the order of their names. */
async function* contentsOf(name: string): AsyncIterable<Content> {
  if (!(await isDirectory(name))) {
    yield { file: name, content: () => readBounded(name) };
    return;
  }
  try {
    const entries = await readdir(name, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const inside = path.join(name, entry.name);
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) yield* contentsOf(inside);
      // Links to folders could form a circle.
      else if (!entry.isSymbolicLink() || !(await isDirectory(inside))) {
        yield { file: inside, content: () => readBounded(inside) };
      }
    }
  } catch (error) {
    yield { file: name, content: () => Promise.reject(error) };
  }
}

async function isDirectory(name: string): Promise<boolean> {
  return (await stat(name).catch(() => undefined))?.isDirectory() === true;
}

async function readBounded(file: string): Promise<Buffer> {
  const found = await stat(file);
  if (!found.isFile()) throw new Error('is not a file');
  if (found.size > maxBytes) throw new Error(`is larger than ${maxBytes / 1024 ** 2} MiB`);
  if (found.size === 0) throw new Error('is empty');
  return readFile(file);
}

function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return message;
  return `cannot be read: ${code === 'ENOENT' ? 'file not found' : code === 'EACCES' ? 'permission denied' : code}`;
}

/** Others script against the names of these fields. */
function toLine(file: string, event: FeedbackEvent, details: boolean) {
  const { type, permanent, reason, recipient, messageId, at, text, deliveryId } = event;
  const line = { file, type, permanent, reason, recipient, message_id: messageId, at };
  return details ? { ...line, text, delivery_id: deliveryId } : line;
}
