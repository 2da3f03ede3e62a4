/** Reads the fields of a form, `application/x-www-form-urlencoded` or `multipart/form-data`. */
import { parseMail } from './mime.ts';

export type Form = ReadonlyMap<string, string>;

/** Without a content type, a body that starts with a boundary is `multipart/form-data`. Of repeated fields, the last counts. */
export function parseForm(bytes: Buffer, contentType: string): Form {
  const boundary = /^--([^\s"]{1,200})\r?\n/.exec(bytes.toString('latin1', 0, 256))?.[1];
  const isMultipart = /^multipart\/form-data\b/i.test(contentType) || (!contentType && boundary !== undefined);
  if (!isMultipart) return new Map(new URLSearchParams(bytes.toString('utf8')));
  const type = /boundary=/i.test(contentType) ? contentType : `multipart/form-data; boundary="${boundary}"`;
  const head = Buffer.from(`content-type: ${type.replace(/[\r\n]/g, ' ')}\n\n`);
  const form = new Map<string, string>();
  for (const part of parseMail(Buffer.concat([head, bytes])).parts) {
    const [, name] = /[;\s]name="([^"]{1,200})"/i.exec(part.headers.get('content-disposition') ?? '') ?? [];
    if (name !== undefined) form.set(name, part.text().replace(/\r?\n$/, ''));
  }
  return form;
}
