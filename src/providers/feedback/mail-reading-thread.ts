/** The threads of mail-reader.ts. */
import { parentPort } from 'node:worker_threads';
import { readLetter } from '../../core/sources/letter.ts';
import type { MailReadingAnswer, MailReadingTask } from './mail-reader.ts';
import { readMail } from './mail-reading.ts';

const answer = ({ kind, bytes }: MailReadingTask): MailReadingAnswer => {
  try {
    const mail = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return kind === 'letter' ? { letter: readLetter(mail) } : { report: readMail(mail) };
  } catch (error) {
    return { mistake: (error as Error).message };
  }
};

parentPort!.on('message', (task: MailReadingTask) => parentPort!.postMessage(answer(task)));
parentPort!.postMessage('ready');
