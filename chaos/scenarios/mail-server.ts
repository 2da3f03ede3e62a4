/** A mail server that refuses some recipients, or whose TLS fails for a while. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import { keyOf } from '../ledger.ts';
import { openMailSink, type TlsMode } from '../mail-sink.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream, triggerOnce } from '../stream.ts';

/** One recipient is refused by policy every time; another does not exist, so that its address is disabled. */
const refusals: Record<string, string> = {
  'p1@chaos.test': '550 5.7.1 refused by policy',
  'p2@chaos.test': '550 5.1.1 no such user',
};

export const rcptRefused: Scenario = {
  title: 'the mail server refuses two of ten recipients with 550',
  async run(scenario, scale) {
    const mail = await openMailSink(recipient => refusals[recipient]);
    const channels = () => [mail.channel('mail')];
    const stage = await Stage.open({ recipients: 10, channel: 'mail', channels, roles: ['api', 'worker'] });
    try {
      const faultAt = Date.now();
      const stream = startStream(stage, 30);
      await sleep(10_000 * scale);
      await stream.stop();
      const recipients = stage.recipients.filter(email => !refusals[email]);
      const { accepted } = stream;
      const ledger = await stage.settle({ scenario, accepted, faultAt, recipients, received: mail.received });
      ledger.broken.push(...(await findUnexplained(stage)));
      if (mail.refusals < accepted.length) ledger.broken.push(`only ${mail.refusals} recipients were refused`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
      await mail.close();
    }
  },
};

/** Finds deliveries to refused recipients that ended in any other way than with the server's reply or a disabled address. */
async function findUnexplained(stage: Stage): Promise<string[]> {
  const rows = await runSql<{ email: string; status: string; reason: string; detail: string; count: number }>(
    stage.url,
    `select u.email, d.status, d.reason, d.detail, count(*)::int as count
     from deliveries d join users u on u.organization_id = d.organization_id and u.id = d.user_id
     where u.email = any($1) group by 1, 2, 3, 4`,
    [Object.keys(refusals)],
  );
  return rows
    .filter(({ email, status, reason, detail }) => {
      if (status === 'failed') return reason !== 'provider.failed' || detail !== refusals[email];
      return status !== 'suppressed' || reason !== 'address.disabled';
    })
    .map(({ email, status, reason, detail, count }) => `${count} to ${email} are ${status}: ${reason}, ${detail}`);
}

const greyReply = '450 4.7.1 Greylisted, try again later';
/** Messages to other domains must not take longer. Ten failures in a row open the circuit breaker of a provider for half a minute. */
const maxUrgentMs = 5_000;

export const greylisting: Scenario = {
  title: 'the mail server greylists 1,000 recipients of one domain while urgent mail to another one is sent',
  async run(scenario, scale) {
    const greyUntil = { at: Number.POSITIVE_INFINITY };
    const mail = await openMailSink(recipient => {
      return recipient.endsWith('@grey.test') && Date.now() < greyUntil.at ? greyReply : undefined;
    });
    const channels = () => [mail.channel('mail')];
    const stage = await Stage.open({ recipients: 1, channel: 'mail', channels, roles: ['api', 'worker'] });
    try {
      const faultAt = Date.now();
      const grey = Array.from({ length: 1_000 * scale }, (_, i) => `g${i}@grey.test`);
      const greylisted = await triggerOnce(stage, 0, { recipients: grey }, { key: 'grey' });
      const urgent = startStream(stage, 10);
      await waitFor('every recipient to be greylisted', async () => mail.refusals >= grey.length, 60_000);
      await sleep(5_000 * Math.max(scale, 0.5));
      await urgent.stop();
      greyUntil.at = Date.now();
      const { accepted, acceptedAt } = urgent;
      const expectedToo = [...grey, ...stage.recipients].map(recipient =>
        keyOf({ occurrence: greylisted!, recipient }),
      );
      const { received } = mail;
      // Retries that wait for minutes are due now.
      const isDelivered = async () => {
        await runSql(stage.url, `update deliveries set due_at = now() where status = 'retrying' and due_at > now()`);
        return received.length >= accepted.length + expectedToo.length;
      };
      await waitFor('the greylisted messages', isDelivered, 60_000).catch(() => {});
      const ledger = await stage.settle({
        scenario,
        accepted,
        expectedToo,
        faultAt,
        faultOverAt: greyUntil.at,
        received,
      });
      const arrivedAt = new Map(received.map(one => [one.occurrence, one.at]));
      const tookMs = Math.max(
        ...accepted.map(one => (arrivedAt.get(one) ?? Number.POSITIVE_INFINITY) - acceptedAt.get(one)!),
      );
      console.log(`  ${mail.refusals} replies were "${greyReply}"; the slowest urgent mail took ${tookMs} ms`);
      if (tookMs > maxUrgentMs) ledger.broken.push(`an urgent mail took ${tookMs} ms`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
      await mail.close();
    }
  },
};

/** How TLS fails one after the other, and what the service records. */
const tlsFaults: Partial<Record<TlsMode, string>> = { expired: 'certificate has expired', unavailable: '454' };

export const tlsErrors: Scenario = {
  title: 'the certificate of the mail server expires, then STARTTLS is unavailable, for a while',
  async run(scenario, scale) {
    const mail = await openMailSink();
    const channels = () => [mail.channel('mail')];
    // Few messages in a quick run: ten failures in a row would open the circuit breaker for half a minute.
    const [recipients, perSecond] = scale < 1 ? [1, 3] : [3, 30];
    const stage = await Stage.open({ recipients, channel: 'mail', channels, roles: ['api', 'worker'] });
    try {
      const stream = startStream(stage, perSecond);
      await sleep(3_000 * scale);
      const faultAt = Date.now();
      for (const [mode, detail] of Object.entries(tlsFaults)) {
        mail.setTls(mode as TlsMode);
        // The circuit breaker may be open for half a minute.
        await waitFor(`messages that fail with "${detail}"`, () => hasFailed(stage, detail), 60_000);
        await sleep(scale < 1 ? 0 : 5_000);
      }
      mail.setTls('ok');
      const faultOverAt = Date.now();
      await sleep(3_000 * scale);
      await stream.stop();
      const { received } = mail;
      return await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt, received });
    } finally {
      await stage.close();
      await mail.close();
    }
  },
};

/** Returns whether an attempt has failed with this detail. */
async function hasFailed(stage: Stage, detail: string): Promise<boolean> {
  const text = `select from deliveries where detail like '%' || $1 || '%' limit 1`;
  return (await runSql(stage.url, text, [detail])).length > 0;
}
