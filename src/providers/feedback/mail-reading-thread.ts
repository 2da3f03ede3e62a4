/** The threads of mail-reader.ts. */
import { parentPort } from 'node:worker_threads';
import type { MailReadingAnswer } from './mail-reader.ts';
import { readMail } from './mail-reading.ts';

const answer = (bytes: Uint8Array): MailReadingAnswer => {
  try {
    return { report: readMail(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) };
  } catch (error) {
    return { mistake: (error as Error).message };
  }
};

parentPort!.on('message', (bytes: Uint8Array) => parentPort!.postMessage(answer(bytes)));
parentPort!.postMessage('ready');
