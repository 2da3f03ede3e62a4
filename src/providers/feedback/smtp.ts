/** Mails: delivery status notifications, bounces in prose, and abuse reports. */
import type { FeedbackReader } from '../../core/feedback/event.ts';
import { type Mail, parseMail } from '../../core/feedback/mime.ts';
import { readReport } from '../../core/feedback/report.ts';
import { type Fields, parseObject } from './payload.ts';
import { readSesEvent } from './ses.ts';

export const smtp: FeedbackReader = {
  title: 'Mail',
  read({ bytes }) {
    if (!/^[\r\n]*[\w-]+[ \t]*:|^[\r\n]*From /.test(bytes.toString('latin1', 0, 1_024))) {
      throw new Error('is not a mail: it does not start with a header');
    }
    const mail = parseMail(bytes);
    const [event, publishedAt] = sesEventOf(mail) ?? [];
    return event ? readSesEvent(event, publishedAt) : readReport(mail);
  },
};

/** More than an event of SES has. */
const maxJsonChars = 65_536;

/**
 * Amazon SNS can deliver the events of SES by mail: as JSON, alone or in the envelope of SNS, which mail servers may wrap, above
 * a footer. Such mails may have been forwarded without the headers of SNS.
 */
function sesEventOf({ parts }: Mail): [event: Fields, publishedAt?: unknown] | undefined {
  for (const part of parts.filter(({ type }) => /^text\/plain$|json/.test(type)).slice(0, 3)) {
    const text = part.text().slice(0, maxJsonChars).trim();
    if (!text.startsWith('{') || !/"(notificationType|eventType|Message)\\?"/.test(text)) continue;
    const event = parse(text.slice(0, text.lastIndexOf('}') + 1)) ?? parse(text.split(/\r?\n--\s*\r?\n/, 1)[0]!);
    const inner = typeof event?.Message === 'string' ? parse(event.Message) : undefined;
    const found = inner ?? event;
    if (found && (found.notificationType || found.eventType)) return [found, event?.Timestamp];
  }
  return undefined;
}

function parse(text: string): Fields | undefined {
  for (const json of [text, text.replace(/\r?\n/g, '')]) {
    try {
      return parseObject({ bytes: Buffer.from(json) });
    } catch {
      // Wrapped, or not an event.
    }
  }
  return undefined;
}
