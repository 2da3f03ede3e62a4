/**
 * The content of a file that many messages carry. Its encodings are computed once, when first needed and in small slices,
 * and shared by all messages: a copy per message would take 14 MB each.
 */

/** A multiple of 57 bytes, which are a line of 76 characters in base64. Encoding a slice takes about 5 ms. */
const sliceBytes = 57 * 8 * 1024;
const bytesPerLine = 57;
const lineLength = 76;

export class FileContent {
  readonly bytes: Buffer;
  #base64: Promise<Buffer> | undefined;
  #lines: Promise<Buffer> | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Returns base64 as one line. */
  base64(): Promise<Buffer> {
    this.#base64 ??= encode(this.bytes);
    return this.#base64;
  }

  /** Returns base64 in lines of 76 characters that end with CRLF (RFC 2045, 6.8). */
  base64Lines(): Promise<Buffer> {
    this.#lines ??= encodeLines(this.bytes);
    return this.#lines;
  }
}

async function encode(bytes: Buffer): Promise<Buffer> {
  const encoded = Buffer.allocUnsafe(4 * Math.ceil(bytes.length / 3));
  let at = 0;
  for (const slice of slicesOf(bytes)) {
    at += encoded.write(slice.toString('base64'), at, 'latin1');
    await new Promise(setImmediate);
  }
  return encoded;
}

async function encodeLines(bytes: Buffer): Promise<Buffer> {
  const lines = Math.ceil(bytes.length / bytesPerLine);
  const encoded = Buffer.allocUnsafe(4 * Math.ceil(bytes.length / 3) + 2 * lines);
  let at = 0;
  for (const slice of slicesOf(bytes)) {
    const text = slice.toString('base64');
    for (let from = 0; from < text.length; from += lineLength) {
      at += encoded.write(text.slice(from, from + lineLength), at, 'latin1');
      encoded[at++] = 0x0d;
      encoded[at++] = 0x0a;
    }
    await new Promise(setImmediate);
  }
  return encoded;
}

function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += sliceBytes) yield bytes.subarray(from, from + sliceBytes);
}
