/** Processes are killed while they handle what comes after sending: updates of messages, and reports about them. */
import { waitFor } from '../../test/support/eventually.ts';
import { openHttpPeer, type RecordedRequest } from '../../test/support/http-peer.ts';
import { runSql } from '../../test/support/sql.ts';
import { keyOf, type Receipt, settleLedger } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const kills = 3;

export const updatesKilled: Scenario = {
  title: 'the only worker is killed with kill -9 three times while it updates messages that were acknowledged',
  async run(scenario, scale) {
    const size = Math.round(1_000 * scale);
    const updates: Receipt[] = [];
    const occurrences = new Map<string, string>();
    // The id of a message is the number of its trigger, which the text contains.
    const numberOf = ({ body }: RecordedRequest) =>
      /Hello (\d+)/.exec((JSON.parse(body) as { text: string }).text)![1]!;
    let sent = 0;
    const webex = await openHttpPeer(seen => {
      const id = numberOf(seen);
      if (seen.method === 'POST') sent++;
      else if (!seen.body.includes('Acknowledged')) return { status: 400 };
      else updates.push({ occurrence: id, recipient: 'update', id, at: Date.now(), answered: true });
      return { body: JSON.stringify({ id, roomId: 'room' }) };
    });
    const stage = await Stage.open({
      recipients: 1,
      roles: ['api', 'worker'],
      notification: {
        steps: [{ channels: ['chat'] }, { after: '1h', unless: 'acknowledged', channels: ['chat'] }],
      },
      channels: () => [
        {
          slug: 'chat',
          name: 'Chat',
          type: 'chat',
          providers: [{ use: 'webex', token: 't', room_id: 'room', endpoint: webex.url }],
        },
      ],
    });
    try {
      await triggerAll(stage, size, occurrences);
      const isSent = async () => (await countRows(stage, `deliveries where status = 'sent'`)) === size;
      await waitFor('all messages to be sent', isSent, 60_000);
      const acknowledging = inTurns([...occurrences.values()], 20, occurrence =>
        post(stage, `/api/o/chaos/occurrence/${occurrence}/acknowledge/`),
      );
      const mayRepeat = new Map<string, number>();
      let faultAt = 0;
      for (let kill = 1; kill <= kills; kill++) {
        const wanted = (kill * size) / (kills + 1);
        await waitFor(`${wanted} updates`, async () => updates.length >= wanted, 60_000);
        faultAt = Date.now();
        await stage.alive('worker')[0]!.end('SIGKILL');
        const claimed = await runSql<{ occurrence: string }>(
          stage.url,
          `update message_updates set due_at = now() where status = 'waiting' and claimed returning occurrence_id as occurrence`,
        );
        // A claim ends after a minute, for which nothing here waits.
        for (const { occurrence } of claimed) {
          const key = keyOf({ occurrence, recipient: 'update' });
          mayRepeat.set(key, (mayRepeat.get(key) ?? 0) + 1);
        }
        await stage.start('worker');
      }
      await acknowledging;
      const broken: string[] = [];
      const isDone = async () => (await countRows(stage, `message_updates where status <> 'done'`)) === 0;
      await waitFor('all updates to end', isDone, 90_000).catch(error => broken.push((error as Error).message));
      if (sent !== size) broken.push(`${sent} messages were sent, not ${size}`);
      const received = updates.map(one => ({ ...one, occurrence: occurrences.get(one.occurrence)! }));
      const accepted = [...occurrences.values()];
      const ledger = settleLedger({ scenario, accepted, recipients: ['update'], received, faultAt, mayRepeat, broken });
      return { ...ledger, pass: ledger.pass && accepted.length === size };
    } finally {
      await stage.close();
      await webex.close();
    }
  },
};

export const feedbackKilled: Scenario = {
  title: 'the API is killed with kill -9 three times while a service reports bounces, some of them repeatedly',
  async run(scenario, scale) {
    const size = Math.round(1_000 * scale);
    const occurrences = new Map<string, string>();
    const postmark = await openHttpPeer({ body: JSON.stringify({ ErrorCode: 0, MessageID: 'm' }) });
    const provider = { use: 'postmark', server_token: 't', from: 'belfry@chaos.test', endpoint: postmark.url };
    const stage = await Stage.open({
      recipients: 1,
      channel: 'mail',
      roles: ['api', 'worker'],
      channels: () => [{ slug: 'mail', name: 'Mail', type: 'email', providers: [provider] }],
    });
    try {
      await triggerAll(stage, size, occurrences);
      const broken = await stage.finish();
      const refs = await runSql<{ ref: string }>(
        stage.url,
        `select occurrence_id || '.' || id as ref from deliveries where status = 'sent'`,
      );
      const address = await feedbackAddress(stage);
      let answered = 0;
      const reporting = inTurns([...refs, ...refs.slice(0, size / 4)], 20, async ({ ref }) => {
        const report = { RecordType: 'Bounce', Type: 'HardBounce', MessageID: ref, Metadata: { belfry_id: ref } };
        await post(stage, address, { ...report, BouncedAt: new Date(0).toISOString() });
        answered++;
      });
      let faultAt = 0;
      for (let kill = 1; kill <= kills; kill++) {
        const wanted = (kill * size) / (kills + 1);
        await waitFor(`${wanted} reports`, async () => answered >= wanted, 60_000);
        faultAt = Date.now();
        await stage.alive('api')[0]!.end('SIGKILL');
        await stage.start('api');
      }
      await reporting;
      const rows = await runSql<{ occurrence: string; id: string }>(
        stage.url,
        `select occurrence_id as occurrence, delivery_id::text as id from feedback where type = 'bounced'`,
      );
      const [counted] = await runSql<{ bounced: number }>(
        stage.url,
        'select coalesce(sum(bounced), 0)::int as bounced from channel_reputation',
      );
      if (counted!.bounced !== size) broken.push(`${counted!.bounced} bounces were counted, not ${size}`);
      const at = Date.now();
      const received = rows.map(row => ({ ...row, recipient: 'report', at, answered: true }));
      const accepted = [...occurrences.values()];
      const facts = { scenario, accepted, recipients: ['report'], received, faultAt, broken };
      const ledger = settleLedger({ ...facts, mayRepeat: new Map() });
      return { ...ledger, pass: ledger.pass && accepted.length === size };
    } finally {
      await stage.close();
      await postmark.close();
    }
  },
};

/** Triggers `count` times; `occurrences` gets the number of each with its occurrence. */
async function triggerAll(stage: Stage, count: number, occurrences: Map<string, string>): Promise<void> {
  await inTurns([...Array(count).keys()], 20, async n => {
    const occurrence = await triggerOnce(stage, n);
    if (occurrence) occurrences.set(String(n), occurrence);
  });
}

async function inTurns<T>(items: readonly T[], parallel: number, work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}

/** Posts until it gets a 200, as services do. */
async function post(stage: Stage, path: string, body: object = {}): Promise<void> {
  await waitFor(
    `${path} to be accepted`,
    async () => {
      const [api] = stage.alive('api');
      const response = await fetch(`${api?.address}${path}`, {
        method: 'POST',
        headers: { authorization: `Key ${stage.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      }).catch(() => undefined);
      await response?.text().catch(() => {});
      return response?.status === 200 || undefined;
    },
    60_000,
  );
}

/** Returns the path to which the service of the channel posts. */
async function feedbackAddress(stage: Stage): Promise<string> {
  const response = await fetch(`${stage.alive('api')[0]!.address}/api/o/chaos/c/mail/`, {
    headers: { authorization: `Key ${stage.key}` },
  });
  const { feedback } = (await response.json()) as { feedback: { addresses: { url: string }[] } };
  return new URL(feedback.addresses[0]!.url).pathname;
}

async function countRows(stage: Stage, from: string): Promise<number> {
  return (await runSql<{ count: number }>(stage.url, `select count(*)::int as count from ${from}`))[0]!.count;
}
