/**
 * A service is killed while the engine accepts triggers that it decided before they were stored. A proxy in front of PostgreSQL sees
 * the statement that stores them, so each kill hits an exact moment.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'pg-connection-string';
import { waitFor } from '../../test/support/eventually.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

/** The name of the statement: it is in every request to run it. */
const statement = 'store_decided';
/** Until the response has reached the client, or the first message its receiver. */
const maxAnsweringMs = 5;

type Moment = 'decided' | 'stored' | 'answering';

export const decidedKilled = killing('decided', 'decided triggers, but before they are stored');
export const storedKilled = killing('stored', 'stored them, but before the engine knows');
export const answeringKilled = killing('answering', 'stored them, while it answers and sends');

function killing(moment: Moment, what: string): Scenario {
  return {
    title: `one of two processes that do everything is killed with kill -9 right after it has ${what}`,
    async run(scenario, scale) {
      const stage = await Stage.open({ recipients: 3, sinkMs: 20, roles: [] });
      const proxy = await openProxy(stage.url);
      try {
        stage.environment.DATABASE_URL = proxy.url;
        const victim = await stage.start('all');
        delete stage.environment.DATABASE_URL;
        await stage.start('all');
        const stream = startStream(stage, 50);
        await sleep(4_000 * scale);
        let faultAt = 0;
        proxy.arm(moment, () => {
          faultAt = Date.now();
          victim.process.kill('SIGKILL');
        });
        await waitFor('a trigger to be decided before it is stored', async () => faultAt > 0, 120_000);
        await waitFor('the database to notice', async () => (await stage.livingWorkers()) === 1);
        const leftBehind = await stage.leftBehind();
        await sleep(3_000 * scale);
        await stream.stop();
        return await stage.settle({ scenario, accepted: stream.accepted, faultAt, leftBehind });
      } finally {
        await stage.close();
        await proxy.close();
      }
    },
  };
}

interface StoreProxy {
  /** The URL of the database through the proxy. */
  url: string;
  /** Calls `kill` once, at this moment of the next statement that stores decided triggers. */
  arm(moment: Moment, kill: () => void): void;
  close(): Promise<void>;
}

async function openProxy(databaseUrl: string): Promise<StoreProxy> {
  const { host, port, user, password, database: name } = parse(databaseUrl);
  const target = host?.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: host!, port: Number(port) };
  const sockets = new Set<Socket>();
  let armed: { moment: Moment; kill: () => void } | undefined;
  const server = createServer(client => {
    const upstream = connect(target);
    /** What happens with the response to the statement. */
    let onResponse: (() => void) | undefined;
    client.on('data', chunk => {
      if (armed && chunk.includes(statement)) {
        const { moment, kill } = armed;
        armed = undefined;
        // The statement does not reach the database.
        if (moment === 'decided') return kill();
        onResponse = moment === 'stored' ? kill : () => setTimeout(kill, Math.random() * maxAnsweringMs);
      }
      upstream.write(chunk);
    });
    upstream.on('data', chunk => {
      onResponse?.();
      onResponse = undefined;
      client.write(chunk);
    });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `postgres://${user}:${encodeURIComponent(password ?? '')}@127.0.0.1:${own}/${name}`,
    arm: (moment, kill) => {
      armed = { moment, kill };
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
