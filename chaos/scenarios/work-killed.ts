/** Workers are killed while they do other work than sending: storing a page of a step, or posting operational webhooks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import { keyOf, type Receipt, settleLedger } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { lastArrivalMs, Stage } from '../stage.ts';
import { startStream, triggerOnce } from '../stream.ts';
import { webhookChannel, webhookSecret } from '../tenant.ts';

const stepPaths = ['/hook/first', '/hook/second', '/hook/third'];

export const stepsKilled: Scenario = {
  title: 'the only worker is killed with kill -9 in the middle of each of three steps',
  async run(scenario, scale) {
    const slugs = stepPaths.map(path => path.split('/').at(-1)!);
    const steps = slugs.map((slug, i) => ({ ...(i > 0 && { after: '1s' }), channels: [slug] }));
    const stage = await Stage.open({
      recipients: Math.round(5_000 * scale),
      roles: ['api', 'worker'],
      notification: { steps },
      channels: sinkUrl => stepPaths.map((path, i) => webhookChannel(slugs[i]!, [`${sinkUrl}${path}`])),
    });
    try {
      const occurrence = await triggerOnce(stage, 1);
      const left: { ids: Set<string>; at: number }[] = [];
      let faultAt = 0;
      // A quick run has one kill: it takes ten seconds until the work of a dead worker is taken over.
      for (const path of scale < 1 ? stepPaths.slice(1, 2) : stepPaths) {
        // After a random part of the step, but at least one message.
        const share = Math.random() * 0.8 * stage.recipients.length;
        const isUnderWay = async () => (await receivedByStep(stage)).filter(one => one.path === path).length > share;
        await waitFor(`messages of ${path}`, isUnderWay, 60_000);
        const [worker] = stage.alive('worker');
        faultAt = Date.now();
        await worker!.end('SIGKILL');
        left.push({ ids: await listUnsettled(stage), at: Date.now() });
        await stage.start('worker');
      }
      const broken = await stage.finish();
      const recipients = stepPaths.flatMap(path => stage.recipients.map(email => `${email} ${path}`));
      const received = await receivedByStep(stage);
      const mayRepeat = new Map<string, number>();
      for (const one of received) {
        if (left.some(({ ids, at }) => ids.has(one.id) && one.at <= at + lastArrivalMs)) mayRepeat.set(keyOf(one), 1);
      }
      const accepted = occurrence ? [occurrence] : [];
      return settleLedger({ scenario, accepted, recipients, received, faultAt, mayRepeat, broken });
    } finally {
      await stage.close();
    }
  },
};

/** Each step has its own path, which is part of the recipient here: all steps notify the same ones. */
async function receivedByStep(stage: Stage): Promise<Receipt[]> {
  return (await stage.received()).map(one => ({ ...one, recipient: `${one.recipient} ${one.path}` }));
}

/** Returns the ids of messages without a recorded outcome. */
async function listUnsettled(stage: Stage): Promise<Set<string>> {
  const text = `select occurrence_id || '.' || id as id from deliveries where status <> 'sent'`;
  return new Set((await runSql<{ id: string }>(stage.url, text)).map(({ id }) => id));
}

const kills = 3;

export const webhooksKilled: Scenario = {
  title: 'the only worker is killed with kill -9 three times while it posts operational webhooks',
  async run(scenario, scale) {
    const path = '/events';
    const stage = await Stage.open({
      recipients: 1,
      channel: 'app',
      sinkMs: 50,
      roles: ['api', 'worker'],
      webhooks: sinkUrl => [
        {
          slug: 'sink',
          name: 'Sink',
          url: `${sinkUrl}${path}`,
          secret: webhookSecret,
          types: ['occurrence.completed'],
        },
      ],
    });
    try {
      const stream = startStream(stage, 60);
      const mayRepeat = new Map<string, number>();
      let faultAt = 0;
      let claimed = 0;
      const lastKill = scale < 1 ? 1 : kills;
      for (let kill = 1; kill <= lastKill; kill++) {
        // The worker that was started last must be posting.
        const before = await stage.count();
        await waitFor('webhook messages to arrive', async () => (await stage.count()) > before + 20, 60_000);
        await waitFor('webhook messages in flight', async () => (await listClaimed(stage)).size > 3);
        const [worker] = stage.alive('worker');
        faultAt = Date.now();
        await worker!.end('SIGKILL');
        const inFlight = await listClaimed(stage);
        claimed += inFlight.size;
        for (const id of inFlight) mayRepeat.set(id, (mayRepeat.get(id) ?? 0) + 1);
        const endClaims = `update webhook_messages set due_at = now() where status = 'waiting' and due_at > now()`;
        // A claim ends after a minute, for which only the last kill of a full run waits.
        if (scale < 1 || kill < lastKill) await runSql(stage.url, endClaims);
        await stage.start('worker');
      }
      await sleep(1_000 * scale);
      await stream.stop();
      const broken = await stage.finish();
      if (claimed === 0) broken.push('no webhook message was in flight when the worker was killed');
      const waiting = `select from webhook_messages where status = 'waiting' limit 1`;
      await waitFor('all webhook messages', async () => (await runSql(stage.url, waiting)).length === 0, 120_000).catch(
        error => broken.push((error as Error).message),
      );
      // There is one event per occurrence.
      const events = await runSql<{ id: string; occurrence: string }>(
        stage.url,
        `select 'msg_' || key as id, data ->> 'occurrence' as occurrence from webhook_messages`,
      );
      const occurrences = new Map(events.map(({ id, occurrence }) => [id, occurrence]));
      if (occurrences.size !== events.length) broken.push('events share a key');
      const received = (await stage.received()).map(one => ({
        ...{ ...one, occurrence: occurrences.get(one.id) ?? one.id, recipient: path },
      }));
      const allowed = new Map(
        [...mayRepeat].map(([id, times]) => {
          return [keyOf({ occurrence: occurrences.get(id) ?? id, recipient: path }), times];
        }),
      );
      const { accepted } = stream;
      return settleLedger({ scenario, accepted, recipients: [path], received, faultAt, mayRepeat: allowed, broken });
    } finally {
      await stage.close();
    }
  },
};

/** Returns the ids of webhook messages that a worker has claimed and not settled. */
async function listClaimed(stage: Stage): Promise<Set<string>> {
  const text = `select 'msg_' || key as id from webhook_messages
    where status = 'waiting' and claimed_at is not null and due_at > now()`;
  return new Set((await runSql<{ id: string }>(stage.url, text)).map(({ id }) => id));
}
