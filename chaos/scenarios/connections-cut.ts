import { setTimeout as sleep } from 'node:timers/promises';
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

export const connectionsCut: Scenario = {
  title: 'all database connections are cut three times during a stream',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, sinkMs: 20, roles: ['all'] });
    try {
      const stream = startStream(stage, 100);
      await sleep(3_000 * scale);
      const faultAt = Date.now();
      for (let cut = 0; cut < 3; cut++) {
        await runSql(
          stage.url,
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'belfry presence'`,
        );
        await sleep(1_500 * scale);
      }
      await stream.stop();
      return await stage.settle({ scenario, accepted: stream.accepted, faultAt });
    } finally {
      await stage.close();
    }
  },
};
