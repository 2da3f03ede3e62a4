/** The readers of feedback by name. A name that is also a provider's is the same service. */
import type { FeedbackReader } from '../../core/feedback/event.ts';
import { brevo } from './brevo.ts';
import { mailersend } from './mailersend.ts';
import { mailgun } from './mailgun.ts';
import { mailjet } from './mailjet.ts';
import { mailtrap } from './mailtrap.ts';
import { mandrill } from './mandrill.ts';
import { postmark } from './postmark.ts';
import { resend } from './resend.ts';
import { sendgrid } from './sendgrid.ts';
import { ses } from './ses.ts';
import { smtp } from './smtp.ts';
import { sparkpost } from './sparkpost.ts';
import { twilio } from './twilio.ts';
import { vonage } from './vonage.ts';
import { whatsapp } from './whatsapp.ts';

export const feedbackReaders: Readonly<Record<string, FeedbackReader>> = {
  smtp,
  ses,
  sendgrid,
  mailgun,
  postmark,
  resend,
  brevo,
  sparkpost,
  mailjet,
  mailersend,
  mandrill,
  mailtrap,
  twilio,
  vonage,
  whatsapp,
};
