/** Files on the wire, in the documented form of each provider. */
import { createHash } from 'node:crypto';
import type { TObject } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FileContent } from '../../src/lib/file-content.ts';
import { createOutbound, type Outbound } from '../../src/lib/network/outbound.ts';
import { providers } from '../../src/providers/index.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { Attachment, Outgoing } from '../../src/providers/sending.ts';
import { type ComplianceCase, exampleOutgoing, json } from '../support/compliance.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { emailCases } from '../support/compliance-email.ts';
import { serviceCases } from '../support/compliance-services.ts';
import { smsCases } from '../support/compliance-sms.ts';
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

describe('chats', () => {
  const short = { title: 'T', text: 'short', missing: [] };
  const long = { title: 'T', text: 'long '.repeat(250), missing: [] };
  const pathOf = ({ method, path }: RecordedRequest) => `${method} ${path}`;

  const answerSlack = (seen: RecordedRequest): Reply => {
    if (seen.path.endsWith('getUploadURLExternal')) {
      const name = new URLSearchParams(seen.body).get('filename')!;
      return json(200, { ok: true, upload_url: `${peer.url}/upload/${name.length}`, file_id: `F${name.length}` });
    }
    if (seen.path.startsWith('/upload/')) return { body: 'OK - 9' };
    return json(200, { ok: true, files: [{ id: 'F13', title: report.name }] });
  };

  it('slack receives the files first, and then shares them in one message with the text', async () => {
    const attachments = [report, logo];
    const seen = await send(chatCases.slack, { address: 'C01', content: short, attachments }, answerSlack);
    expect(seen.map(pathOf)).toEqual([
      'POST /api/files.getUploadURLExternal',
      'POST /upload/13',
      'POST /api/files.getUploadURLExternal',
      'POST /upload/8',
      'POST /api/files.completeUploadExternal',
    ]);
    expect(seen[0]!.body).toBe('filename=Bericht+1.txt&length=9');
    expect(seen[1]).toMatchObject({ body: 'a report\n', headers: { 'content-length': '9' } });
    expect(seen[1]!.headers).not.toHaveProperty('authorization');
    expect(JSON.parse(seen[4]!.body)).toEqual({
      files: [
        { id: 'F13', title: report.name },
        { id: 'F8', title: 'logo.png' },
      ],
      channels: 'C01',
      initial_comment: '*T*\n\nshort',
    });
  });

  it('a file that slack does not take has sent nothing', async () => {
    const { provider, settings } = chatCases.slack;
    const sender = provider.open(settings(peer.url), { outbound });
    peer.reply = seen => (seen.path.startsWith('/upload/') ? 'drop' : answerSlack(seen));
    const outcome = await sender.send(exampleOutgoing({ address: 'C01', content: short, attachments: [report] }));
    expect(outcome).toMatchObject({
      ok: false,
      retry: true,
      reason: expect.stringMatching(/^uploading Bericht 1.txt: /),
    });
    expect(outcome).not.toHaveProperty('unknown');
  });

  it('telegram receives one file with the text as its caption, and a picture as such', async () => {
    const [document] = await send(chatCases['telegram-bot'], { address: '7', content: short, attachments: [report] });
    expect(document!.path).toMatch(/\/sendDocument$/);
    expect(readForm(document!).map(({ head, content }) => [/name="(\w+)"/.exec(head)![1], content])).toEqual([
      ['chat_id', '7'],
      ['caption', '<b>T</b>\n\nshort'],
      ['parse_mode', 'HTML'],
      ['document', 'a report\n'],
    ]);
    const [photo] = await send(chatCases['telegram-bot'], { address: '7', content: short, attachments: [logo] });
    expect(photo!.path).toMatch(/\/sendPhoto$/);
  });

  it('telegram receives several files as an album, after a text that is too long for a caption', async () => {
    const attachments = [report, logo];
    const reply = (seen: RecordedRequest) =>
      json(200, { ok: true, result: seen.path.endsWith('sendMessage') ? { message_id: 1 } : [{ message_id: 2 }] });
    const seen = await send(chatCases['telegram-bot'], { address: '7', content: long, attachments }, reply);
    expect(seen.map(({ path }) => path.split('/').at(-1))).toEqual(['sendMessage', 'sendMediaGroup']);
    const media = readForm(seen[1]!).find(({ head }) => head.includes('name="media"'))!;
    expect(JSON.parse(media.content)).toEqual([
      { type: 'document', media: 'attach://file0' },
      { type: 'document', media: 'attach://file1' },
    ]);
  });

  it('a text that telegram has sent without its files counts as possibly delivered', async () => {
    const { provider, settings } = chatCases['telegram-bot'];
    const sender = provider.open(settings(peer.url), { outbound });
    peer.reply = ({ path }) =>
      path.endsWith('sendMessage')
        ? json(200, { ok: true, result: { message_id: 1 } })
        : json(400, { ok: false, description: 'wrong file' });
    const outcome = await sender.send(exampleOutgoing({ address: '7', content: long, attachments: [report] }));
    expect(outcome).toMatchObject({ ok: false, unknown: true, reason: 'only a part was sent: 400: wrong file' });
  });

  it('discord receives the message and the files in one form', async () => {
    const [seen] = await send(chatCases['discord-webhook'], { content: short, attachments: [report, logo] });
    const [payload, ...files] = readForm(seen!);
    expect(payload!.head).toBe('Content-Disposition: form-data; name="payload_json"');
    expect(JSON.parse(payload!.content)).toMatchObject({ content: '**T**\n\nshort', allowed_mentions: { parse: [] } });
    expect(files.map(({ head }) => head.split('\r\n')[0])).toEqual([
      'Content-Disposition: form-data; name="files[0]"; filename="Bericht 1.txt"',
      'Content-Disposition: form-data; name="files[1]"; filename="logo.png"',
    ]);
  });

  it('matrix receives the files as media, and one event for each, with its own transaction id', async () => {
    const reply = ({ path }: RecordedRequest) =>
      json(200, path.includes('/upload') ? { content_uri: 'mxc://acme.test/abc' } : { event_id: '$1:acme.test' });
    const address = '!r:acme.test';
    const seen = await send(serviceCases.matrix, { address, content: short, attachments: [logo] }, reply);
    expect(seen.map(pathOf)).toEqual([
      'POST /_matrix/media/v3/upload?filename=logo.png',
      expect.stringMatching(/^PUT .*[/]send[/]m[.]room[.]message[/][-0-9a-f]+$/),
      expect.stringMatching(/^PUT .*[/]send[/]m[.]room[.]message[/][-0-9a-f]+[.]0$/),
    ]);
    expect(seen[0]).toMatchObject({ body: 'a picture', headers: { 'content-type': 'image/png' } });
    expect(JSON.parse(seen[2]!.body)).toEqual({
      msgtype: 'm.image',
      body: 'logo.png',
      filename: 'logo.png',
      url: 'mxc://acme.test/abc',
      info: { mimetype: 'image/png', size: 9 },
      'm.mentions': {},
    });
  });

  const answerWhatsApp = ({ path }: RecordedRequest) =>
    json(200, path.endsWith('/media') ? { id: '4490709327384033' } : { messages: [{ id: 'wamid.1' }] });

  it('whatsapp receives the file as media, and then as a document with the text as its caption', async () => {
    const seen = await send(
      smsCases.whatsapp,
      { address: '+15', content: short, attachments: [report] },
      answerWhatsApp,
    );
    expect(seen.map(({ path }) => path.split('/').at(-1))).toEqual(['media', 'messages']);
    expect(readForm(seen[0]!).map(({ content }) => content)).toEqual(['whatsapp', 'text/plain', 'a report\n']);
    expect(JSON.parse(seen[1]!.body)).toMatchObject({
      type: 'document',
      document: { id: '4490709327384033', filename: report.name, caption: 'T\n\nshort' },
    });
  });

  it('a template of whatsapp has the file in its header', async () => {
    const settings = (url: string) => ({ ...smsCases.whatsapp.settings(url), template: 'invoice' });
    const suite = { ...smsCases.whatsapp, settings };
    const seen = await send(suite, { address: '+15', content: short, attachments: [report] }, answerWhatsApp);
    const document = { id: '4490709327384033', filename: report.name };
    expect(JSON.parse(seen[1]!.body).template.components).toEqual([
      { type: 'header', parameters: [{ type: 'document', document }] },
      { type: 'body', parameters: [{ type: 'text', text: 'T short' }] },
    ]);
  });
});

it('every email provider sends files', () => {
  const without = Object.values(providers).filter(({ medium, attaches }) => medium === 'email' && !attaches);
  expect(without.map(({ name }) => name)).toEqual([]);
});
