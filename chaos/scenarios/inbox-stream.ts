import { setTimeout as sleep } from 'node:timers/promises';
import { EventStream } from '../../test/support/event-stream.ts';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import { type Receipt, settleLedger } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

const users = 500;
const retryMs = 200;

/** Finds inboxes whose stored counts differ from their messages. */
const wrongCounts = `
  select i.user_id from inboxes i left join lateral (
    select count(*) filter (where read_at is null) as unread,
      count(*) filter (where read_at is null and seen_at is null) as unseen
    from inbox m where m.organization_id = i.organization_id and m.user_id = i.user_id and archived_at is null
  ) c on true
  where i.unread <> c.unread or i.unseen <> c.unseen`;

export const inboxStream: Scenario = {
  title: 'the API is killed with kill -9 with open inbox streams while messages arrive',
  async run(scenario, scale) {
    const recipients = Math.round(users * scale);
    const stage = await Stage.open({ recipients, channel: 'app', roles: ['api', 'worker'] });
    const followers = stage.recipients.map(recipient => new Follower(stage, recipient));
    try {
      await waitFor('all streams to be open', async () => followers.every(one => one.isReady), 60_000);
      const triggers = startStream(stage, 2);
      await sleep(3_000 * Math.max(scale, 0.5));
      const faultAt = Date.now();
      await stage.alive('api')[0]!.end('SIGKILL');
      await sleep(1_000);
      await stage.start('api');
      const faultOverAt = Date.now();
      await sleep(3_000 * Math.max(scale, 0.5));
      await triggers.stop();
      const broken = await stage.finish();
      const { accepted } = triggers;
      const receipts = () => followers.flatMap(one => one.receipts);
      await waitFor(
        'every stream to receive all messages',
        async () => receipts().length >= accepted.length * recipients,
        60_000,
      ).catch(error => broken.push((error as Error).message));
      const wrong = await runSql(stage.url, wrongCounts);
      if (wrong.length > 0) broken.push(`${wrong.length} inboxes have counts that differ from their messages`);
      const unresumed = followers.filter(one => one.connections < 2).length;
      if (unresumed > 0) broken.push(`${unresumed} streams were never resumed`);
      const received = receipts();
      const last = followers.filter(one => one.unread !== accepted.length).length;
      if (last > 0) broken.push(`${last} streams ended with a count that differs from their messages`);
      const facts = { scenario, accepted, recipients: stage.recipients, received, faultAt, faultOverAt, broken };
      return settleLedger({ ...facts, mayRepeat: new Map() });
    } finally {
      for (const one of followers) one.stop();
      await stage.close();
    }
  },
};

/** A client that reconnects after the last event it received. */
class Follower {
  readonly receipts: Receipt[] = [];
  isReady = false;
  connections = 0;
  unread = 0;
  readonly #stage: Stage;
  readonly #recipient: string;
  #lastId: string | undefined;
  #read = 0;
  #stream: EventStream | undefined;
  #isStopped = false;

  constructor(stage: Stage, recipient: string) {
    this.#stage = stage;
    this.#recipient = recipient;
    void this.#follow();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stream?.close();
  }

  async #follow(): Promise<void> {
    while (!this.#isStopped) {
      const [api] = this.#stage.alive('api');
      const path = `/api/o/chaos/u/${this.#recipient}/inbox/stream/`;
      const headers = {
        authorization: `Key ${this.#stage.key}`,
        ...(this.#lastId !== undefined && { 'last-event-id': this.#lastId }),
      };
      this.#stream = api && (await EventStream.open(api.address, path, headers).catch(() => undefined));
      if (this.#stream?.status === 200) {
        this.connections++;
        this.#read = 0;
        while (!this.#stream.isOver && !this.#isStopped) {
          this.#readEvents();
          await sleep(20);
        }
        this.#readEvents();
      }
      await sleep(retryMs);
    }
  }

  #readEvents(): void {
    for (const { event, id, data } of this.#stream!.events.slice(this.#read)) {
      this.#read++;
      this.#lastId = id;
      this.unread = data.unread;
      this.isReady = true;
      if (event === 'reset') throw new Error('a stream was reset and lost its position');
      if (event !== 'message') continue;
      const { occurrence } = data as { occurrence: string };
      this.receipts.push({
        occurrence,
        recipient: this.#recipient,
        id: String(data.id),
        at: Date.now(),
        answered: true,
      });
    }
  }
}
