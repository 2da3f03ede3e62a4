/**
 * Files in HTTP requests. Their content is put between the other pieces of a body and never copied into it: the messages
 * of a fan-out share it.
 */
import { createHash, randomUUID } from 'node:crypto';
import { type Failure, toReason } from './http-outcome.ts';
import type { Attachment, Outgoing } from './sending.ts';

/** A file in JSON: `content` stands for its base64, until `withFiles` replaces it. */
export interface JsonFile extends Omit<Attachment, 'file'> {
  content: string;
  base64: Buffer;
}

/** Returns the files of a message for a JSON body. */
export function jsonFiles({ attachments = [] }: Outgoing): Promise<JsonFile[]> {
  return Promise.all(
    attachments.map(async ({ file, ...facts }) => ({
      ...facts,
      // Random, so that no message can contain it.
      content: randomUUID(),
      base64: await file.base64(),
    })),
  );
}

/** Returns the body with the content of the files. */
export function withFiles(json: string, files: readonly JsonFile[]): string | Buffer[] {
  if (files.length === 0) return json;
  const pieces: Buffer[] = [];
  let rest = json;
  // In the order in which the body has them.
  const ordered = files.toSorted((a, b) => json.indexOf(a.content) - json.indexOf(b.content));
  for (const { content, base64 } of ordered) {
    const at = rest.indexOf(content);
    if (at < 0) continue;
    pieces.push(Buffer.from(rest.slice(0, at)), base64);
    rest = rest.slice(at + content.length);
  }
  return [...pieces, Buffer.from(rest)];
}

/** A field of a form: text, or a file. */
export type FormField = [name: string, value: string | { name: string; contentType: string; bytes: Buffer }];

/** Returns a form as `multipart/form-data` (RFC 7578). */
export function toForm(fields: readonly FormField[]): { contentType: string; body: Buffer[] } {
  const boundary = `belfry-${randomUUID()}`;
  const body = fields.flatMap(([name, value]) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`;
    if (typeof value === 'string') return [Buffer.from(`${head}\r\n\r\n${value}\r\n`)];
    const file = `; filename="${escapeName(value.name)}"\r\nContent-Type: ${value.contentType}\r\n\r\n`;
    return [Buffer.from(head + file), value.bytes, Buffer.from('\r\n')];
  });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: [...body, Buffer.from(`--${boundary}--\r\n`)],
  };
}

/** Returns a file of a message as a field. */
export function fileField(field: string, { name, contentType, file }: Attachment): FormField {
  return [field, { name, contentType, bytes: file.bytes }];
}

function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

const hashedBytes = 1024 * 1024;

/** Returns the SHA-256 of a body in hexadecimal, computed in slices, because 14 MB at once would block the event loop. */
export async function hashPieces(pieces: readonly Buffer[]): Promise<string> {
  const hash = createHash('sha256');
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += hashedBytes) {
      hash.update(piece.subarray(from, from + hashedBytes));
      if (piece.length > hashedBytes) await new Promise(setImmediate);
    }
  }
  return hash.digest('hex');
}

/** Turns the failure of an upload into that of the message: nothing has reached the recipient, whatever became of it. */
export function uploadFailure(
  { unknown: _, gone: __, doubt: ___, ...failure }: Failure,
  { name }: Attachment,
): Failure {
  return { ...failure, reason: toReason(`uploading ${name}: ${failure.reason}`) };
}

/** The outcome if an earlier part of the message has been sent: sending it again may repeat that part. */
export function partFailure(failure: Failure): Failure {
  return { ...failure, retry: true, unknown: true, reason: toReason(`only a part was sent: ${failure.reason}`) };
}
