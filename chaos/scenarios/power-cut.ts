import { waitFor } from '../../test/support/eventually.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

export const powerCut: Scenario = {
  title: 'service and PostgreSQL are killed with kill -9 during a fan-out to 10,000',
  async run(scenario, scale) {
    const recipients = 10_000 * scale;
    const stage = await Stage.open({ recipients, sinkMs: 10, roles: ['api', 'worker'] });
    try {
      const occurrence = await triggerOnce(stage, 1);
      await waitFor('a tenth of the messages', async () => (await stage.count()) > recipients / 10);
      const faultAt = Date.now();
      const victims = stage.alive('api', 'worker');
      await Promise.all([stage.killDatabase(), ...victims.map(victim => victim.end('SIGKILL'))]);
      const leftBehind = await stage.leftBehind();
      await Promise.all([stage.start('api'), stage.start('worker')]);
      return await stage.settle({ scenario, accepted: occurrence ? [occurrence] : [], faultAt, leftBehind });
    } finally {
      await stage.close();
    }
  },
};
