/** Bounce mails are read in threads. */
import { afterAll, expect, test } from 'vitest';
import { UnreadableMailError } from '../../src/core/feedback/event.ts';
import { ThreadsBusyError } from '../../src/lib/load/thread-pool.ts';
import { mailLimits } from '../../src/providers/feedback/mail-limits.ts';
import { MailReader } from '../../src/providers/feedback/mail-reader.ts';
import { readMail } from '../../src/providers/feedback/mail-reading.ts';
import { costOf, cpuMs } from '../support/cpu-time.ts';
import { hostileMail } from '../support/hostile-mail.ts';

const reader = new MailReader();
afterAll(() => reader.close());
const bytes = Buffer.from(hostileMail);

test('the most expensive mail takes hardly any time of the thread that received it', async () => {
  const here = Math.min(...[0, 1].map(() => costOf(() => readMail(bytes))));
  const report = await reader.read(1, bytes);
  expect(report).toEqual(readMail(bytes));
  const elsewhere: number[] = [];
  for (let i = 0; i < 3; i++) {
    const before = process.threadCpuUsage();
    await reader.read(1, bytes);
    elsewhere.push(cpuMs(before));
  }
  expect(Math.min(...elsewhere)).toBeLessThan(here / 4);
});

test('a mail of one organization is read before the many that wait of another, which has a limit', async () => {
  // Starts both threads: on a busy machine, that takes longer than reading all the mails.
  await Promise.all([1, 2].map(organization => reader.read(organization, Buffer.from('Subject: x\r\n\r\n'))));
  let read = 0;
  const all = Array.from({ length: mailLimits.waiting + 2 }, () =>
    reader.read(1, bytes.subarray(0, 100_000)).finally(() => read++),
  );
  const settled = Promise.allSettled(all);
  await reader.read(2, Buffer.from('Subject: x\r\n\r\n'));
  expect(read).toBeLessThan(all.length / 2);
  const refused = (await settled).filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(refused.map(({ reason }) => reason)).toEqual([expect.any(ThreadsBusyError)]);
});

test('what is not a mail is refused', async () => {
  await expect(reader.read(1, Buffer.from('no header'))).rejects.toThrow(UnreadableMailError);
});
