/** Reads one mail. Runs only in the threads of mail-reader.ts. */
import type { MailReport } from '../../core/feedback/event.ts';
import { parseMail } from '../../core/feedback/mime.ts';
import { smtp } from './smtp.ts';

const maxHeaderBytes = 64 * 1024;
/** Headers in which servers name the address that a mail was delivered to. */
const recipientHeaders = ['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'to'];

/** Throws if it is not a mail at all. */
export function readMail(bytes: Buffer): MailReport {
  const events = smtp.read({ contentType: 'message/rfc822', bytes });
  if (events.length === 0) return { events, paths: [] };
  const { headers } = parseMail(bytes.subarray(0, maxHeaderBytes));
  return { events, paths: recipientHeaders.flatMap(name => headers.get(name)?.match(/b-[0-9a-z-]{1,62}@/gi) ?? []) };
}
