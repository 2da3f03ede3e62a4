/**
 * A file of 5 MiB to a list, over SMTP to a real mail server. Every email must arrive with the whole file, and the worker's
 * memory must not grow with the number of recipients.
 */
import { createHash, randomBytes } from 'node:crypto';
import { FileContent } from '../src/lib/file-content.ts';
import { addMembers, runFanOut } from './fan-out.ts';
import { channel, connections, event } from './mail.ts';
import type { Scenario } from './scenario.ts';
import { openPeer, openStage, residentMb, type Stage } from './stage.ts';

const fileBytes = 5 * 1024 * 1024;
const warmUp = 500;

export const attachments: Scenario = {
  name: 'attachments',
  summary: 'a file of 5 MiB to a list of 1,000 (quick: 20) over SMTP: the growth of the worker’s memory',
  async run({ quick }) {
    const size = quick ? 20 : 1_000;
    const { peer, port } = await openPeer('./peer-files.ts');
    const hashes = new Map<string, number>();
    let bytes = 0;
    peer.on('message', (mail: { bytes: number; hash: string }) => {
      hashes.set(mail.hash, (hashes.get(mail.hash) ?? 0) + 1);
      bytes += mail.bytes;
    });
    const distribution_lists = [{ name: 'all' }, { name: 'few' }];
    const stage = await openStage([channel(port)], [event('all'), event('few')], { distribution_lists });
    try {
      await addMembers(stage.sql, 'all', size);
      await addMembers(stage.sql, 'few', warmUp);
      const api = await stage.start('api');
      const worker = await stage.start('worker');
      // Emails without files first: compiled code and connections are not what is measured.
      await runFanOut(stage, api.address, 'few', warmUp);
      hashes.clear();
      bytes = 0;
      const content = randomBytes(fileBytes);
      const id = await upload(stage, api.address, content);
      const before = await residentMb(worker);
      let peak = before;
      const watch = setInterval(async () => {
        peak = Math.max(peak, await residentMb(worker).catch(() => 0));
      }, 100);
      const perSecond = await runFanOut(stage, api.address, 'all', size, { attachments: [{ id }] });
      clearInterval(watch);
      const expected = createHash('sha256')
        .update(await new FileContent(content).base64Lines())
        .digest('hex');
      if (hashes.size !== 1 || hashes.get(expected) !== size) {
        throw new Error(`the file arrived in ${hashes.get(expected) ?? 0} of ${size} emails`);
      }
      return [
        {
          measure: `memory growth of the worker, ${size.toLocaleString('en')} emails with 5 MiB`,
          value: peak - before,
          unit: 'MB',
          limit: { of: 'value', max: 100 },
          note: `${Math.round(before)} MB before; ${connections} connections`,
        },
        {
          measure: 'emails with 5 MiB',
          value: perSecond,
          unit: 'emails/s',
          note: `${Math.round(((bytes / size) * perSecond) / 1_000_000)} MB/s; the mail server needs most of the CPU time`,
        },
      ];
    } finally {
      await stage.close();
      peer.disconnect();
    }
  },
};

async function upload({ key }: Stage, address: string, body: Buffer): Promise<string> {
  const answer = await fetch(`${address}/api/o/bench/p/shop/a/web/attachments/?name=file.dat`, {
    method: 'POST',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(body),
  });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { id: string }).id;
}
