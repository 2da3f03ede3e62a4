import { setTimeout as sleep } from 'node:timers/promises';
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

export const wrongKey: Scenario = {
  title: 'a worker starts with the wrong BELFRY_SECRET_KEY, and later with the right one',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, roles: ['api'] });
    try {
      const faultAt = Date.now();
      stage.environment.BELFRY_SECRET_KEY = 'another secret of at least 32 characters';
      const wrong = await stage.start('worker');
      const stream = startStream(stage, 20);
      await sleep(5_000 * Math.max(scale, 0.5));
      await stream.stop();
      const ready = await fetch(`${wrong.address}/readyz`);
      const { status } = (await ready.json()) as { status: string };
      const broken = status.includes('secrets cannot be decrypted') ? [] : [`/readyz says ${status}`];
      await wrong.end('SIGTERM');
      delete stage.environment.BELFRY_SECRET_KEY;
      await stage.start('worker');
      const faultOverAt = Date.now();
      // They are due within a minute.
      await runSql(
        stage.url,
        `update deliveries set due_at = now() where status = 'retrying' and reason = 'channel.unreadable'`,
      );
      const ledger = await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt, broken });
      const [{ failed }] = (await runSql<{ failed: number }>(
        stage.url,
        'select count(*)::int as failed from deliveries where attempts > 1',
      )) as [{ failed: number }];
      if (failed > 0) ledger.broken.push(`${failed} messages took more than one attempt`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
    }
  },
};
