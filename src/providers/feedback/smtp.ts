/** Mails: delivery status notifications, bounces in prose, and abuse reports. */
import type { FeedbackReader } from '../../core/feedback/event.ts';
import { parseMail } from '../../core/feedback/mime.ts';
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
    const notification = mail.headers.has('x-amz-sns-message-id') ? sesEventOf(mail.parts[0]?.text() ?? '') : undefined;
    return notification ? readSesEvent(notification) : readReport(mail);
  },
};

/** Amazon SNS can deliver the events of SES by mail: JSON, which mail servers may wrap, above a footer. */
function sesEventOf(text: string): Fields | undefined {
  const [json = ''] = text.trimStart().split(/\r?\n--\r?\n/, 1);
  try {
    return parseObject({ bytes: Buffer.from(json.replace(/\r?\n/g, '')) });
  } catch {
    return undefined;
  }
}
