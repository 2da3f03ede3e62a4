/** Patroni moves the primary, on request or because its machine is lost, while the service is busy. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runSql } from '../../test/support/sql.ts';
import { openPatroni, type PatroniCluster } from '../patroni.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

const patroni = (title: string, fail: (cluster: PatroniCluster) => Promise<void>): Scenario => ({
  title,
  isSlow: true,
  async run(scenario, scale) {
    let cluster: PatroniCluster | undefined;
    const openDatabase = async (folder: string) => {
      cluster = await openPatroni(folder);
      return cluster;
    };
    const stage = await Stage.open({ recipients: 3, roles: ['api', 'worker', 'worker'], openDatabase });
    try {
      const stream = startStream(stage, 30);
      await sleep(5_000 * scale);
      const faultAt = Date.now();
      await fail(cluster!);
      const faultOverAt = Date.now();
      const leftBehind = await stage.leftBehind();
      await sleep(10_000 * Math.max(scale, 0.5));
      await stream.stop();
      const rows = await runSql<{ id: string }>(stage.url, 'select id from occurrences where id = any($1)', [
        stream.accepted,
      ]);
      const forgotten = stream.accepted.length - rows.length;
      const broken = forgotten > 0 ? [`${forgotten} accepted triggers are not stored`] : [];
      const times = { faultAt, faultOverAt };
      return await stage.settle({ scenario, accepted: stream.accepted, leftBehind, broken, ...times, waitMs: 180_000 });
    } finally {
      await stage.close();
    }
  },
});

export const patroniSwitchover = patroni('Patroni hands the primary over to its synchronous standby', cluster =>
  cluster.switchOver(),
);

export const patroniLeaderKilled = patroni(
  'the machine of the leader is lost, and Patroni promotes the standby',
  cluster => cluster.killLeader(),
);
