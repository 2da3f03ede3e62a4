/** The words of a server keep their meaning in the reports of other servers, whatever prose surrounds them. */
import { expect, test } from 'vitest';
import { smtp } from '../../src/providers/feedback/smtp.ts';
import { alive, dead } from '../support/server-replies.ts';

const address = 'jane@acme.test';
const id = '<1@news.test>';
const original = `\n\nReceived: from a by b\nMessage-ID: ${id}\nFrom: news@news.test\nTo: ${address}\nSubject: Hi\n\nHello!\n`;

const mail = (subject: string, text: string, type = 'text/plain') =>
  `From: Mail Delivery Subsystem <mailer-daemon@mx.test>\nTo: news@news.test\nSubject: ${subject}\nContent-Type: ${type}\n\n${text}`;

const withStatus = (subject: string, text: string, reply: string) =>
  mail(
    subject,
    `--b\n\n${text}\n\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\nFinal-Recipient: rfc822; ${address}\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; ${fold(reply)}\n\n--b\nContent-Type: message/rfc822${original}\n--b--\n`,
    'multipart/report; report-type=delivery-status; boundary="b"',
  );

/** Breaks lines as mail servers do. */
const fold = (text: string) => text.replace(/(.{1,72})(\s+|$)/g, '$1\n    ').trim();

const systems: Record<string, (reply: string) => string> = {
  'Gmail until 2016': reply =>
    mail(
      'Delivery Status Notification (Failure)',
      `Delivery to the following recipient failed permanently:\n\n     ${address}\n\nTechnical details of permanent failure:\nGoogle tried to deliver your message, but it was rejected by the recipient domain. We recommend contacting the other email provider for further information about the cause of this error. The error that the other server returned was: ${reply} (state 14).\n\n----- Original message -----${original}`,
    ),
  Gmail: reply =>
    mail(
      'Delivery Status Notification (Failure)',
      `** Message not delivered **\n\nThere was a problem delivering your message to ${address}. See the technical details below, or try resending in a few minutes.\n\nThe response from the remote server was:\n${reply}\n\n----- Original message -----${original}`,
    ),
  qmail: reply =>
    mail(
      'failure notice',
      `Hi. This is the qmail-send program at mx.test.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<${address}>:\n192.0.2.1 does not like recipient.\nRemote host said: ${reply}\nGiving up on 192.0.2.1.\n\n--- Below this line is a copy of the message.${original}`,
    ),
  Exim: reply =>
    mail(
      'Mail delivery failed: returning message to sender',
      `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  ${address}\n    host mx.acme.test [192.0.2.1]\n    SMTP error from remote mail server after RCPT TO:<${address}>:\n    ${fold(reply)}\n\n------ This is a copy of the message, including all the headers. ------${original}`,
    ),
  Postfix: reply =>
    withStatus(
      'Undelivered Mail Returned to Sender',
      `This is the mail system at host mx.test.\n\nI'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients. It's attached below.\n\nFor further assistance, please send mail to postmaster.\n\n                   The mail system\n\n<${address}>: host mx.acme.test[192.0.2.1] said: ${fold(reply)}`,
      reply,
    ),
  'Microsoft 365': reply =>
    withStatus(
      'Undeliverable: Hi',
      `Delivery has failed to these recipients or groups:\n\n${address}<mailto:${address}>\nYour message couldn't be delivered. Despite repeated attempts to contact the recipient's email system it didn't respond or rejected the message. Contact the recipient by some other means and ask them to tell their email admin.\n\nDiagnostic information for administrators:\n\n${address}\nRemote Server returned '${reply}'\n\nOriginal message headers:\n\nReceived: from a by b`,
      reply,
    ),
  'Yahoo Mail': reply =>
    mail(
      'Failure Notice',
      `Sorry, we were unable to deliver your message to the following address.\n\n<${address}>:\nRemote host said:\n${reply}\n[RCPT_TO]\n\n--- Below this line is a copy of the message.${original}`,
    ),
  OpenSMTPD: reply =>
    mail(
      'Delivery status notification: error',
      `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.\n\n    An error has occurred while attempting to deliver a message for\n    the following list of recipients:\n\n${address}: ${reply}\n\n    Below is a copy of the original message:${original}`,
    ),
};

const replies = [
  ...Object.values(dead).flatMap(texts => texts.map(text => [text, true] as const)),
  // What "user unknown" means depends on when the server said it, which the notice adds.
  ...Object.entries(alive)
    .filter(([reason]) => reason !== 'unknown_user')
    .flatMap(([, texts]) => texts.map(text => [text, false] as const)),
];

test.each(Object.entries(systems))('%s reports what the refusing server meant', (_, report) => {
  for (const [reply, permanent] of replies) {
    const events = smtp.read({ contentType: '', bytes: Buffer.from(report(reply)) });
    const found = events.map(event => [event.type, event.permanent, event.recipient, event.messageId]);
    expect(found, reply).toEqual([['bounced', permanent, address, id]]);
  }
});
