/** Files on the wire, in the documented form of each provider. */
import { createHash } from 'node:crypto';
import type { TObject } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FileContent } from '../../src/lib/file-content.ts';
import { createOutbound, type Outbound } from '../../src/lib/outbound.ts';
import { providers } from '../../src/providers/index.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { Attachment, Outgoing } from '../../src/providers/sending.ts';
import { type ComplianceCase, exampleOutgoing } from '../support/compliance.ts';
import { emailCases } from '../support/compliance-email.ts';
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from '../support/http-peer.ts';

const report: Attachment = {
  name: 'Bericht 1.txt',
  contentType: 'text/plain',
  file: new FileContent(Buffer.from('a report\n')),
};
const logo: Attachment = {
  name: 'logo.png',
  contentType: 'image/png',
  contentId: 'logo',
  file: new FileContent(Buffer.from('a picture')),
};
const [reportText, logoText] = [report, logo].map(({ file }) => file.bytes.toString('base64'));

let peer: HttpPeer;
let outbound: Outbound;
beforeAll(async () => {
  peer = await openHttpPeer();
  outbound = createOutbound({ allow: ['127.0.0.0/8'], timeoutMs: 5_000 });
});
afterAll(async () => {
  await outbound.close();
  await peer.close();
});

async function send<S extends TObject>(
  { provider, settings, answers }: { provider: Provider<S> } & Pick<ComplianceCase<S>, 'settings' | 'answers'>,
  outgoing: Partial<Outgoing> = { attachments: [report, logo] },
  reply: HttpPeer['reply'] = answers.accepted as Reply,
): Promise<RecordedRequest[]> {
  peer.seen.length = 0;
  peer.reply = reply;
  const sender = provider.open(settings(peer.url), { outbound });
  expect(await sender.send(exampleOutgoing(outgoing))).toMatchObject({ ok: true });
  await sender.close();
  return [...peer.seen];
}

/** Returns the parts of a form: name, file name and type, and content. */
function readForm({ headers, body }: RecordedRequest): { head: string; content: string }[] {
  const [, boundary] = /^multipart\/form-data; boundary=(\S+)$/.exec(headers['content-type']!)!;
  expect(Number(headers['content-length'])).toBe(Buffer.byteLength(body));
  const parts = `\r\n${body}`.split(`\r\n--${boundary}`);
  expect(parts.at(-1)).toBe('--\r\n');
  return parts.slice(1, -1).map(part => {
    const end = part.indexOf('\r\n\r\n');
    return { head: part.slice(2, end), content: part.slice(end + 4) };
  });
}

describe('email', () => {
  const inAttachments = {
    sendgrid: [
      { content: reportText, type: 'text/plain', filename: report.name, disposition: 'attachment' },
      { content: logoText, type: 'image/png', filename: 'logo.png', disposition: 'inline', content_id: 'logo' },
    ],
    mailtrap: [
      { content: reportText, type: 'text/plain', filename: report.name, disposition: 'attachment' },
      { content: logoText, type: 'image/png', filename: 'logo.png', disposition: 'inline', content_id: 'logo' },
    ],
    mailersend: [
      { content: reportText, filename: report.name, disposition: 'attachment' },
      { content: logoText, filename: 'logo.png', disposition: 'inline', id: 'logo' },
    ],
    resend: [
      { filename: report.name, content: reportText, content_type: 'text/plain' },
      { filename: 'logo.png', content: logoText, content_type: 'image/png', content_id: 'logo' },
    ],
  };
  for (const [name, attachments] of Object.entries(inAttachments)) {
    it(`${name} receives them in base64`, async () => {
      const [seen] = await send(emailCases[name as keyof typeof inAttachments] as ComplianceCase);
      expect(JSON.parse(seen!.body)).toMatchObject({ attachments });
      expect(Number(seen!.headers['content-length'])).toBe(Buffer.byteLength(seen!.body));
    });
  }

  it('postmark receives them with capital names, and the content id as a URL', async () => {
    const [seen] = await send(emailCases.postmark);
    expect(JSON.parse(seen!.body).Attachments).toEqual([
      { Name: report.name, Content: reportText, ContentType: 'text/plain' },
      { Name: 'logo.png', Content: logoText, ContentType: 'image/png', ContentID: 'cid:logo' },
    ]);
  });

  it('mailjet receives images of the body apart', async () => {
    const [seen] = await send(emailCases.mailjet, { attachments: [logo, report] });
    expect(JSON.parse(seen!.body).Messages[0]).toMatchObject({
      Attachments: [{ ContentType: 'text/plain', Filename: report.name, Base64Content: reportText }],
      InlinedAttachments: [
        { ContentType: 'image/png', Filename: 'logo.png', Base64Content: logoText, ContentID: 'logo' },
      ],
    });
  });

  it('sparkpost receives images of the body apart, named by their content id', async () => {
    const [seen] = await send(emailCases.sparkpost);
    expect(JSON.parse(seen!.body).content).toMatchObject({
      attachments: [{ name: report.name, type: 'text/plain', data: reportText }],
      inline_images: [{ name: 'logo', type: 'image/png', data: logoText }],
    });
  });

  it('brevo receives names and contents', async () => {
    const [seen] = await send(emailCases.brevo);
    expect(JSON.parse(seen!.body).attachment).toEqual([
      { name: report.name, content: reportText },
      { name: 'logo.png', content: logoText },
    ]);
  });

  it('ses receives them in a request whose content is signed', async () => {
    const [seen] = await send(emailCases.ses);
    expect(JSON.parse(seen!.body).Content.Simple.Attachments).toEqual([
      {
        FileName: report.name,
        RawContent: reportText,
        ContentType: 'text/plain',
        ContentTransferEncoding: 'BASE64',
        ContentDisposition: 'ATTACHMENT',
      },
      {
        FileName: 'logo.png',
        RawContent: logoText,
        ContentType: 'image/png',
        ContentTransferEncoding: 'BASE64',
        ContentDisposition: 'INLINE',
        ContentId: 'logo',
      },
    ]);
    expect(seen!.headers['x-amz-content-sha256']).toBe(createHash('sha256').update(seen!.body).digest('hex'));
    expect(seen!.headers.authorization).toContain('x-amz-content-sha256');
  });

  it('mailgun receives a form, with images of the body named by their content id', async () => {
    const [seen] = await send(emailCases.mailgun);
    const parts = readForm(seen!);
    expect(parts.slice(-2)).toEqual([
      {
        head: 'Content-Disposition: form-data; name="attachment"; filename="Bericht 1.txt"\r\nContent-Type: text/plain',
        content: 'a report\n',
      },
      {
        head: 'Content-Disposition: form-data; name="inline"; filename="logo"\r\nContent-Type: image/png',
        content: 'a picture',
      },
    ]);
    expect(parts[0]).toEqual({
      head: 'Content-Disposition: form-data; name="from"',
      content: 'Acme <no-reply@acme.test>',
    });
  });
});

it('every email provider sends files', () => {
  const without = Object.values(providers).filter(({ medium, attaches }) => medium === 'email' && !attaches);
  expect(without.map(({ name }) => name)).toEqual([]);
});
