/** A TCP proxy whose open connections can go silent, as behind a firewall that has forgotten them; new ones work. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { parse } from 'pg-connection-string';

export interface SilentProxy {
  /** The URL of the database through the proxy. */
  url: string;
  /** Forwards nothing more on connections that are open now, or on every nth of them. They stay open. */
  silence(nth?: number): void;
  /** Does so for all connections, and for new ones too, as a machine that hangs does. Returns how many were opened since. */
  freeze(): () => number;
  /** Ends silent connections at the database, as its keep-alives do; the client does not notice. */
  endSilent(): void;
  /** Forwards new connections again; those that were open or opened meanwhile are reset. */
  thaw(): void;
  close(): Promise<void>;
}

export async function openSilentProxy(databaseUrl: string): Promise<SilentProxy> {
  const { host, port, user, password, database: name } = parse(databaseUrl);
  const target = host?.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: host!, port: Number(port) };
  const pairs = new Set<[Socket, Socket]>();
  const held = new Set<Socket>();
  const silent = new Set<[Socket, Socket]>();
  let isFrozen = false;
  const server = createServer(client => {
    if (isFrozen) {
      held.add(client.on('error', () => {}));
      return;
    }
    const upstream = connect(target);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    client.pipe(upstream).pipe(client);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as AddressInfo;
  const silence = (nth = 1) => {
    for (const pair of [...pairs].filter((_, index) => index % nth === 0)) {
      const [client, upstream] = pair;
      silent.add(pair);
      client.unpipe(upstream);
      upstream.unpipe(client);
      client.resume();
      upstream.resume();
    }
  };
  return {
    url: `postgres://${user}:${encodeURIComponent(password ?? '')}@127.0.0.1:${own}/${name}`,
    silence,
    freeze: () => {
      isFrozen = true;
      silence();
      return () => held.size;
    },
    endSilent: () => {
      for (const [, upstream] of silent) upstream.removeAllListeners('close').destroy();
    },
    thaw: () => {
      isFrozen = false;
      for (const socket of [...held, ...[...silent].flat()]) socket.destroy();
      held.clear();
      silent.clear();
    },
    close: async () => {
      for (const socket of [...held, ...[...pairs].flat()]) socket.destroy();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
