/**
 * Adds attachments to an email (RFC 2045, 2046, 2387). The encoded content is shared by all emails with the same file, so
 * an email with 10 MB of attachments needs little more memory than one without.
 */
import { randomUUID } from 'node:crypto';
import { buildHeaderValue, encodeWord, foldLines } from 'nodemailer/lib/mime-funcs';
import type { Attachment } from '../../sending.ts';

export interface EncodedFile extends Omit<Attachment, 'file'> {
  /** Base64 in lines. */
  lines: Buffer;
}

export function encodeFiles(attachments: readonly Attachment[]): Promise<EncodedFile[]> {
  return Promise.all(attachments.map(async ({ file, ...facts }) => ({ ...facts, lines: await file.base64Lines() })));
}

type Piece = string | Buffer;

/**
 * Returns the email's MIME structure around `body`, a MIME part with its headers: the text up to the first file, and what
 * follows. Images with a content id belong to the body; other files follow both.
 */
export function addFiles(body: string, files: readonly EncodedFile[]): { text: string; rest: Buffer[] } {
  const images = files.filter(({ contentId }) => contentId !== undefined);
  const others = files.filter(({ contentId }) => contentId === undefined);
  const type = /^Content-Type: ([\w/]+)/.exec(body)![1]!;
  const related =
    images.length === 0 ? [`${body}\r\n`] : toMultipart(`related; type="${type}"`, [`${body}\r\n`], images);
  const pieces = others.length === 0 ? related : toMultipart('mixed', related, others);
  const start = pieces.findIndex(piece => typeof piece !== 'string');
  return {
    text: pieces.slice(0, start).join(''),
    rest: pieces.slice(start).map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  };
}

/** Every part ends with a line break. The boundary is random, so that no part can contain it. */
function toMultipart(subtype: string, first: Piece[], files: readonly EncodedFile[]): Piece[] {
  const boundary = `=_${randomUUID()}`;
  return [
    `Content-Type: multipart/${subtype};\r\n boundary="${boundary}"\r\n\r\n--${boundary}\r\n`,
    ...first,
    ...files.flatMap(file => [`--${boundary}\r\n${headOf(file)}`, file.lines]),
    `--${boundary}--\r\n`,
  ];
}

/** The name is written in both ways that mail clients read: as RFC 2231 requires, and as an encoded word. */
function headOf({ name, contentType, contentId }: EncodedFile): string {
  const disposition = { value: contentId === undefined ? 'attachment' : 'inline', params: { filename: name } };
  const ascii = isAscii.test(name) ? name.replaceAll('\\', '') : encodeWord(name, 'B', 52);
  return [
    foldLines(`Content-Type: ${contentType}; name="${ascii}"`, 76),
    foldLines(`Content-Disposition: ${buildHeaderValue(disposition)}`, 76),
    'Content-Transfer-Encoding: base64',
    ...(contentId === undefined ? [] : [`Content-ID: <${contentId}>`]),
    '\r\n',
  ].join('\r\n');
}

/** Names contain no quotation marks. */
const isAscii = /^[ !#-~]*$/;
