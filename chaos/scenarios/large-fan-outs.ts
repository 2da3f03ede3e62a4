/** Nothing breaks here, except that there is far more to send at once than usual. The times count from the trigger. */
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const waitMs = 600_000;
/** Triggers in flight at the same time. */
const parallel = 50;

export const fanOutNamed: Scenario = {
  title: 'a trigger names 10,000 recipients, the maximum, none of whom is a user yet',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 1, roles: ['api', 'worker'] });
    try {
      const named = Array.from({ length: 10_000 * scale }, (_, i) => `named${i}@chaos.test`);
      const faultAt = Date.now();
      const occurrence = await triggerOnce(stage, 1, { recipients: named });
      const recipients = [...stage.recipients, ...named];
      return await stage.settle({ scenario, accepted: occurrence ? [occurrence] : [], recipients, faultAt, waitMs });
    } finally {
      await stage.close();
    }
  },
};

export const fanOutList: Scenario = {
  title: 'a trigger notifies a list with 200,000 members',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 1, roles: ['api', 'worker'] });
    try {
      await stage.addRecipients(scale < 1 ? 5_000 : 200_000);
      const faultAt = Date.now();
      const occurrence = await triggerOnce(stage, 1);
      return await stage.settle({ scenario, accepted: occurrence ? [occurrence] : [], faultAt, waitMs });
    } finally {
      await stage.close();
    }
  },
};

export const fanOutOrganizations: Scenario = {
  title: '2,000 organizations trigger at the same time',
  async run(scenario, scale) {
    const organizations = Array.from({ length: scale < 1 ? 100 : 2_000 }, (_, i) => `tenant-${i}`);
    const stage = await Stage.open({ recipients: 1, organizations, roles: ['api', 'worker'] });
    try {
      const faultAt = Date.now();
      const accepted = await triggerAll(organizations, (organization, n) =>
        triggerOnce(stage, n, {}, { organization }),
      );
      const broken = missing(accepted, organizations.length);
      return await stage.settle({ scenario, accepted, faultAt, waitMs, broken });
    } finally {
      await stage.close();
    }
  },
};

export const fanOutScheduled: Scenario = {
  title: '100,000 triggers are scheduled for the same second',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 1, roles: ['api', 'worker'] });
    try {
      const size = scale < 1 ? 2_000 : 100_000;
      // Scheduled for tomorrow, and moved to a moment soon after the last trigger, however long all of them take.
      const send_at = new Date(Date.now() + 86_400_000).toISOString();
      const accepted = await triggerAll(Array(size).keys(), n => triggerOnce(stage, n, { send_at }));
      const broken = missing(accepted, size);
      if ((await stage.count()) > 0) broken.push('messages were sent before their time');
      const faultAt = Date.now() + 2_000;
      await runSql(stage.url, 'update occurrences set due_at = $1', [new Date(faultAt)]);
      const ledger = await stage.settle({ scenario, accepted, faultAt, waitMs, broken });
      const early = (await stage.received()).filter(({ at }) => at < faultAt).length;
      if (early > 0) ledger.broken.push(`${early} messages were sent before their time`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
    }
  },
};

/** Triggers for each item, a limited number at a time, and returns the occurrences. */
async function triggerAll<T>(
  items: Iterable<T>,
  trigger: (item: T, n: number) => Promise<string | undefined>,
): Promise<string[]> {
  const accepted: string[] = [];
  const remaining = items[Symbol.iterator]();
  let next = 0;
  const sendNext = async () => {
    for (let item = remaining.next(); !item.done; item = remaining.next()) {
      const occurrence = await trigger(item.value, next++);
      if (occurrence) accepted.push(occurrence);
    }
  };
  await Promise.all(Array.from({ length: parallel }, sendNext));
  return accepted;
}

function missing(accepted: readonly string[], size: number): string[] {
  return accepted.length === size ? [] : [`only ${accepted.length} of ${size} triggers were accepted`];
}
