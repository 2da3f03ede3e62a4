/** Builds mails that report about another mail. */

export const original = [
  'From: News <news@acme.test>',
  'To: Jane <jane@example.test>',
  'Subject: Hello',
  'Message-ID: <1234.abcd@acme.test>',
  '',
  'Hello Jane!',
].join('\n');

export interface Report {
  from?: string;
  subject?: string;
  headers?: string[];
  notice?: string;
  /** The content of parts by their type. */
  parts?: [type: string, content: string][];
}

/** Builds a mail with the notice alone, or a multipart with the notice and the parts. */
export function report({
  from = 'MAILER-DAEMON@mx.acme.test',
  subject = 'Undelivered mail',
  headers = [],
  notice = '',
  parts,
}: Report) {
  const head = [
    `From: ${from}`,
    'To: news@acme.test',
    `Subject: ${subject}`,
    'Date: Tue, 3 Mar 2026 10:00:00 +0100',
    ...headers,
  ];
  if (!parts) return [...head, '', notice].join('\r\n');
  const all = [['text/plain; charset=utf-8', notice] as const, ...parts];
  const body = all.map(([type, content]) => `--limit\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`).join('');
  return [...head, 'Content-Type: multipart/report; boundary="limit"', '', `${body}--limit--`].join('\r\n');
}

/** Builds a delivery status notification (RFC 3464) about recipients. */
export function dsn(recipients: string[][], more: Report = {}) {
  const status = ['Reporting-MTA: dns; mx.acme.test', ...recipients.map(fields => `\r\n${fields.join('\r\n')}`)].join(
    '\r\n',
  );
  return report({
    ...more,
    parts: [
      ['message/delivery-status', status],
      ['message/rfc822', original],
    ],
  });
}

export const failed = (address: string, status: string, diagnostic: string) => [
  `Final-Recipient: rfc822; ${address}`,
  'Action: failed',
  `Status: ${status}`,
  `Diagnostic-Code: smtp; ${diagnostic}`,
];
