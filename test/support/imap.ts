/** An IMAP server on loopback, over TLS or with STARTTLS, with one mailbox. It refuses what RFC 3501 does not allow, so that clients cannot get away with it. */
import { once } from 'node:events';
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net';
import { createServer, TLSSocket } from 'node:tls';
import { certificate, certificateKey } from './certificate.ts';

export interface ImapPeer {
  port: number;
  messages: { uid: number; raw: string; flags: Set<string> }[];
  uidValidity: number;
  /** Number of connections that signed in. */
  sessions: number;
  /** Announces messages of this size, whatever was asked for. */
  announcedBytes: number | undefined;
  /** Never answers this command. */
  silentOn: string | undefined;
  /** Commands in the order in which they were received, without tags and credentials. */
  commands: string[];
  add(raw: string): void;
  close(): Promise<void>;
}

export const imapUser = { user: 'bounces@acme.test', password: 'a "quoted" password' };

type Security = 'tls' | 'starttls' | 'none';

export async function openImapPeer(security: Security = 'tls'): Promise<ImapPeer> {
  const sockets = new Set<Socket>();
  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    serve(peer, socket, security);
  };
  const server =
    security === 'tls' ? createServer({ cert: certificate, key: certificateKey }, accept) : createPlainServer(accept);
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  let nextUid = 1;
  const peer: ImapPeer = {
    port: (server.address() as AddressInfo).port,
    messages: [],
    uidValidity: 7,
    sessions: 0,
    announcedBytes: undefined,
    silentOn: undefined,
    commands: [],
    add: raw => peer.messages.push({ uid: nextUid++, raw, flags: new Set() }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise(resolve => server.close(resolve));
    },
  };
  return peer;
}

function serve(peer: ImapPeer, accepted: Socket, security: Security, isUpgraded = false): void {
  const socket = isUpgraded
    ? new TLSSocket(accepted, { isServer: true, cert: certificate, key: certificateKey }).on('error', () => {})
    : accepted;
  const offersUpgrade = security === 'starttls' && !isUpgraded;
  let state: 'new' | 'signed in' | 'selected' = 'new';
  let text = '';
  /** The tag of the command that waits for the credentials. */
  let signingIn: string | undefined;
  const send = (line: string) => socket.write(`${line}\r\n`, 'latin1');
  const capabilities = `CAPABILITY IMAP4rev1 ${offersUpgrade ? 'STARTTLS LOGINDISABLED' : 'AUTH=PLAIN'}`;
  // After STARTTLS, the client speaks first.
  if (!isUpgraded) send(`* OK [${capabilities}] ready`);
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk;
    for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 2);
      answer(line);
    }
  });

  function answer(line: string) {
    if (signingIn !== undefined) return checkCredentials(signingIn, line);
    const [, tag = '*', command = '', rest = ''] = /^(\S+) (UID \S+|\S+)(?: (.*))?$/.exec(line) ?? [];
    const name = command.toUpperCase();
    peer.commands.push(name === 'AUTHENTICATE' || name === 'LOGIN' ? name : `${name} ${rest}`.trim());
    if (name === peer.silentOn) return undefined;
    const ok = () => send(`${tag} OK done`);
    if (name === 'CAPABILITY') {
      send(`* ${capabilities}`);
      return ok();
    }
    if (name === 'LOGOUT') {
      send('* BYE');
      ok();
      return socket.end();
    }
    if (name === 'STARTTLS' && offersUpgrade) {
      ok();
      socket.removeAllListeners('data');
      return serve(peer, socket, security, true);
    }
    if (name === 'NOOP') return ok();
    if (state === 'new') return signIn(tag, name, rest);
    if (name === 'LIST' || name === 'LSUB') {
      send(rest === '"" ""' ? '* LIST (\\Noselect) "/" ""' : `* ${name} () "/" INBOX`);
      return ok();
    }
    if (name === 'SELECT') return select(tag, rest);
    if (state !== 'selected') return send(`${tag} BAD select a mailbox first`);
    if (name === 'UID SEARCH') return search(tag, rest);
    if (name === 'UID FETCH') return fetchMessage(tag, rest);
    if (name === 'UID STORE') return storeFlags(tag, rest);
    if (name === 'CLOSE' || name === 'UNSELECT') return ok();
    return send(`${tag} BAD unknown command ${name}`);
  }

  function signIn(tag: string, name: string, rest: string) {
    if (name !== 'AUTHENTICATE' || rest.toUpperCase() !== 'PLAIN') return send(`${tag} BAD sign in first`);
    signingIn = tag;
    return send('+ ');
  }

  function checkCredentials(tag: string, response: string) {
    signingIn = undefined;
    const [, user, password] = Buffer.from(response, 'base64').toString().split('\0');
    if (user !== imapUser.user || password !== imapUser.password)
      return send(`${tag} NO [AUTHENTICATIONFAILED] invalid credentials`);
    state = 'signed in';
    peer.sessions++;
    return send(`${tag} OK signed in`);
  }

  function select(tag: string, rest: string) {
    if (!/^"?INBOX"?$/i.test(rest)) return send(`${tag} NO [NONEXISTENT] no such mailbox`);
    state = 'selected';
    send('* FLAGS (\\Seen)');
    send(`* ${peer.messages.length} EXISTS`);
    send('* 0 RECENT');
    send(`* OK [UIDVALIDITY ${peer.uidValidity}]`);
    send('* OK [PERMANENTFLAGS (\\Seen)]');
    return send(`${tag} OK [READ-WRITE] selected`);
  }

  function search(tag: string, rest: string) {
    const [, from, to] = /^UID (\d+):(\*|\d+)$/.exec(rest) ?? [];
    if (!from) return send(`${tag} BAD cannot search for ${rest}`);
    const last = peer.messages.at(-1)?.uid ?? 0;
    // The last message is always part of n:*.
    const [low, high] = [Math.min(Number(from), to === '*' ? last : Number(to)), to === '*' ? last : Number(to)];
    const found = peer.messages.filter(({ uid }) => uid >= low && uid <= Math.max(high, low));
    send(`* SEARCH${found.map(({ uid }) => ` ${uid}`).join('')}`);
    return send(`${tag} OK done`);
  }

  function fetchMessage(tag: string, rest: string) {
    const [, uid, bytes] = /^(\d+) \((?:UID )?BODY\.PEEK\[\]<0\.(\d+)>(?: UID)?\)$/.exec(rest) ?? [];
    if (!uid) return send(`${tag} BAD cannot fetch ${rest}`);
    const index = peer.messages.findIndex(one => one.uid === Number(uid));
    const raw = peer.messages[index]?.raw.slice(0, Number(bytes));
    if (raw !== undefined)
      send(`* ${index + 1} FETCH (UID ${uid} BODY[]<0> {${peer.announcedBytes ?? raw.length}}\r\n${raw})`);
    return send(`${tag} OK done`);
  }

  function storeFlags(tag: string, rest: string) {
    const [, uid, flag = ''] = /^(\d+) \+FLAGS(?:\.SILENT)? \((\\Seen)\)$/.exec(rest) ?? [];
    if (!uid) return send(`${tag} BAD cannot store ${rest}`);
    peer.messages.find(one => one.uid === Number(uid))?.flags.add(flag);
    return send(`${tag} OK done`);
  }
}
