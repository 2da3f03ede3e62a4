/**
 * Sends to unknown users of Debian's Postfix and Exim, and waits for their bounce mails at the listener of Belfry. The packages are
 * unpacked into a temporary folder, because they conflict with each other and must not change the system.
 */
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { freePort } from '../../test/support/postgres.ts';
import {
  atExit,
  cleanEnv,
  eventually,
  hasProgram,
  root,
  run,
  Skipped,
  startServer,
  temporaryFolder,
} from './support.ts';

const secondsToBounce = 30;
export const bounceDomain = 'bounces.acme.test';
/** Accounts that every Debian has. Postfix needs a user and a group that nothing else is running as. */
const postfixAccounts = { user: 'uucp', group: 'proxy' };
const unprivileged = 65_534;

export interface MailServer {
  name: string;
  /** It accepts mails for this domain, in which no user exists. */
  domain: string;
  port: number;
  log(): Promise<string>;
  stop(): Promise<void>;
}

export async function checkMailServers(): Promise<string> {
  if (process.getuid?.() !== 0) throw new Skipped('Postfix and Exim must be started by root');
  if (!hasProgram('apt-get') || !hasProgram('dpkg-deb'))
    throw new Skipped('there is no apt-get to fetch Postfix and Exim');
  const folder = temporaryFolder('mail-servers');
  await chmod(folder, 0o755);
  const unpacked = await fetchPackages(folder, ['postfix', 'exim4-daemon-light', 'libnss-wrapper']);
  const bouncePort = await freePort();
  const servers = [await startPostfix(folder, unpacked, bouncePort), await startExim(folder, unpacked, bouncePort)];
  try {
    await Promise.all(servers.map(waitUntilListening));
    await checkBounces(folder, bouncePort, servers);
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
  return `unknown users of ${servers.map(({ name }) => name).join(' and ')} bounce and are suppressed`;
}

export interface Unpacked {
  /** Contains `usr`. */
  folder: string;
  libraries: string;
}

/** Downloads and unpacks packages together with those that this machine lacks. */
export async function fetchPackages(parent: string, names: string[]): Promise<Unpacked> {
  const [folder, downloads] = [path.join(parent, 'unpacked'), path.join(parent, 'packages')];
  await Promise.all([mkdir(folder), mkdir(downloads)]);
  try {
    const missing = new Set(names);
    for (const name of names) {
      const plan = await run('apt-get', ['install', '--simulate', '--no-install-recommends', name]);
      for (const [, other = ''] of plan.matchAll(/^Inst (\S+)/gm)) missing.add(other);
    }
    await run('apt-get', ['download', ...missing], { cwd: downloads });
  } catch (error) {
    throw new Skipped(`the packages could not be fetched: ${(error as Error).message.split('\n').at(-1)}`);
  }
  for (const file of await readdir(downloads)) await run('dpkg-deb', ['-x', path.join(downloads, file), folder]);
  const libraries = await readdir(path.join(folder, 'usr/lib')).catch(() => []);
  const own = libraries.find(name => name.endsWith('-linux-gnu'));
  return { folder, libraries: path.join(folder, 'usr/lib', own ?? '') };
}

export async function startPostfix(
  parent: string,
  { folder, libraries }: Unpacked,
  bouncePort: number,
): Promise<MailServer> {
  const port = await freePort();
  const [home, lib] = [path.join(parent, 'postfix'), path.join(folder, 'usr/lib/postfix')];
  const [conf, queue, data] = ['conf', 'queue', 'data'].map(name => path.join(home, name)) as [string, string, string];
  const uid = Number(await run('id', ['-u', postfixAccounts.user]));
  const gid = Number((await run('getent', ['group', postfixAccounts.group])).split(':')[2]);
  const own = 'active bounce corrupt defer deferred flush hold incoming private saved trace'.split(' ');
  for (const one of [home, conf, queue, path.join(queue, 'pid')]) await mkdir(one);
  for (const one of [data, ...own.map(name => path.join(queue, name))]) {
    await mkdir(one, { mode: 0o700 });
    await chown(one, uid, 0);
  }
  for (const [name, mode] of [
    ['maildrop', 0o730],
    ['public', 0o710],
  ] as const) {
    await mkdir(path.join(queue, name));
    await chown(path.join(queue, name), uid, gid);
    await chmod(path.join(queue, name), mode);
  }
  await writeFile(
    path.join(conf, 'main.cf'),
    `compatibility_level = 3.6
queue_directory = ${queue}
data_directory = ${data}
daemon_directory = ${lib}/sbin
command_directory = ${folder}/usr/sbin
shlib_directory = ${lib}
meta_directory = ${folder}/etc/postfix
mail_owner = ${postfixAccounts.user}
setgid_group = ${postfixAccounts.group}
import_environment = MAIL_CONFIG LANG=C LD_LIBRARY_PATH POSTLOG_SERVICE POSTLOG_HOSTNAME
maillog_file = ${home}/log
maillog_file_prefixes = ${home}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtpd_peername_lookup = no
smtp_dns_support_level = disabled
smtp_host_lookup = native
myhostname = mx.postfix.test
mydestination = postfix.test
mynetworks = 127.0.0.0/8
alias_maps =
# Accepts mails to unknown users, as a server does that forwards to another one.
local_recipient_maps =
transport_maps = inline:{ ${bounceDomain}=smtp:[127.0.0.1]:${bouncePort} }
`,
  );
  const master = [
    `${port} inet n - n - - smtpd`,
    'pickup unix n - n 60 1 pickup',
    'cleanup unix n - n - 0 cleanup',
    'qmgr unix n - n 300 1 qmgr',
    'rewrite unix - - n - - trivial-rewrite',
    ...['bounce', 'defer', 'trace'].map(name => `${name} unix - - n - 0 bounce`),
    'smtp unix - - n - - smtp',
    'local unix - n n - - local',
    'error unix - - n - - error',
    'anvil unix - - n - 1 anvil',
    'postlog unix-dgram n - n - 1 postlogd',
  ];
  await writeFile(path.join(conf, 'master.cf'), `${master.join('\n')}\n`);
  const env = { LD_LIBRARY_PATH: `${lib}:${libraries}` };
  const stop = startProgram([path.join(lib, 'sbin/master'), '-c', conf], env);
  const log = () => readFile(path.join(home, 'log'), 'utf8');
  return { name: `Postfix ${await versionOf(folder, 'postfix')}`, domain: 'postfix.test', port, log, stop };
}

export async function startExim(
  parent: string,
  { folder, libraries }: Unpacked,
  bouncePort: number,
): Promise<MailServer> {
  const port = await freePort();
  const home = path.join(parent, 'exim');
  const program = path.join(folder, 'usr/sbin/exim4');
  await mkdir(home);
  await chown(home, unprivileged, unprivileged);
  // Setuid programs ignore LD_LIBRARY_PATH.
  await chmod(program, 0o755);
  // Debian's Exim runs as Debian-exim, a user that only its installation creates.
  await writeFile(
    path.join(home, 'passwd'),
    `root:x:0:0::/:/bin/sh\nDebian-exim:x:${unprivileged}:${unprivileged}::/:/bin/sh\n`,
  );
  await writeFile(path.join(home, 'group'), `root:x:0:\nmail:x:8:\nDebian-exim:x:${unprivileged}:\n`);
  const env = {
    LD_LIBRARY_PATH: libraries,
    LD_PRELOAD: path.join(libraries, 'libnss_wrapper.so'),
    NSS_WRAPPER_PASSWD: path.join(home, 'passwd'),
    NSS_WRAPPER_GROUP: path.join(home, 'group'),
  };
  await writeFile(
    path.join(home, 'exim.conf'),
    `primary_hostname = mx.exim.test
exim_path = ${program}
spool_directory = ${home}/spool
log_file_path = ${home}/%slog
pid_file_path = ${home}/pid
keep_environment = ${Object.keys(env).join(':')}
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
deliver_drop_privilege = true
host_lookup =
rfc1413_query_timeout = 0s
tls_advertise_hosts =
acl_smtp_rcpt = accept
begin acl
begin routers
bounces:
  driver = manualroute
  domains = ${bounceDomain}
  route_list = * 127.0.0.1
  self = send
  transport = belfry
users:
  driver = accept
  domains = exim.test
  check_local_user
  transport = mailbox
begin transports
belfry:
  driver = smtp
  port = ${bouncePort}
mailbox:
  driver = appendfile
  file = ${home}/mailbox
`,
  );
  const stop = startProgram([program, '-C', path.join(home, 'exim.conf'), '-bdf'], env);
  const log = () => readFile(path.join(home, 'mainlog'), 'utf8');
  return { name: `Exim ${await versionOf(folder, 'exim4-daemon-light')}`, domain: 'exim.test', port, log, stop };
}

async function versionOf(folder: string, name: string): Promise<string> {
  const packages = await readdir(path.join(folder, '../packages'));
  return (
    packages
      .find(file => file.startsWith(`${name}_`))
      ?.split(/[_-]/)
      .at(name.split('-').length)
      ?.trim() ?? ''
  );
}

/** Starts a program in the foreground and returns what stops it. */
function startProgram([command = '', ...args]: string[], env: Record<string, string>): () => Promise<void> {
  const child = spawn(command, args, { env: cleanEnv(env), stdio: 'ignore' });
  const ended = new Promise<void>(resolve => child.on('error', () => resolve()).on('close', () => resolve()));
  atExit(() => child.kill());
  return async () => {
    child.kill();
    await ended;
  };
}

export async function waitUntilListening({ name, port }: MailServer): Promise<void> {
  await eventually(`${name} to listen`, async () => {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>(resolve => {
      socket.on('data', () => resolve(true)).on('error', () => resolve(false));
    });
    socket.destroy();
    return isOpen;
  });
}

async function checkBounces(parent: string, bouncePort: number, servers: MailServer[]): Promise<void> {
  const home = path.join(parent, 'belfry');
  await mkdir(home);
  const program = [process.execPath, path.join(root, 'bin/belfry.js')];
  const env = { BELFRY_DATA_DIR: home };
  const belfry = async (...args: string[]) => (await run(program[0]!, [program[1]!, ...args], { env })).trim();
  const server = await startServer([...program, 'serve'], home, {
    ...env,
    BELFRY_SMTP_IN: `127.0.0.1:${bouncePort}`,
    BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8',
  });
  try {
    const file = path.join(home, 'acme.json');
    await writeFile(file, JSON.stringify({ organizations: [organizationWith(servers)] }));
    await belfry('apply', file);
    const key = await belfry('key', 'create', '--org', 'acme', '--name', 'check', '--permission', 'occurrence:read');
    const outcomeOf = async (occurrence: string) => {
      const url = `${server.address}/api/o/acme/occurrence/${occurrence}/deliveries/`;
      const response = await fetch(url, { headers: { authorization: `Key ${key}` } });
      const [delivery] = (await response.json()) as { status: string; reason: string | null; detail: string | null }[];
      return delivery ? `${delivery.status} ${delivery.reason ?? ''}`.trim() : '';
    };
    const checkServer = async ({ name, domain, log }: MailServer) => {
      const user = `unknown@${domain}`;
      const send = () => belfry('trigger', `acme/shop/web/${eventOf(domain)}`);
      const first = await send();
      await until(
        () => outcomeOf(first),
        'failed bounced',
        async () => `${name} logged:\n${await log()}`,
      );
      const second = await send();
      await until(
        () => outcomeOf(second),
        'suppressed address.suppressed',
        async () => server.output(),
      );
      for (const [occurrence, story] of [
        [first, /According to smtp, it bounced permanently/],
        [second, /suppression list/],
      ] as const) {
        const text = await belfry('why', '--org', 'acme', occurrence, user);
        if (!story.test(text)) throw new Error(`belfry why does not tell what ${name} reported: ${text}`);
      }
    };
    await Promise.all(servers.map(checkServer));
  } finally {
    await server.stop();
  }
}

function eventOf(domain: string): string {
  return `to-${domain.split('.')[0]}`;
}

/** Each server has a channel, an event, and a user whose mailbox does not exist. */
function organizationWith(servers: MailServer[]): object {
  const common = { use: 'smtp', host: '127.0.0.1', from: 'Acme <no-reply@acme.test>', starttls: 'never' };
  return {
    slug: 'acme',
    name: 'Acme',
    users: servers.map(({ domain }) => ({ email: `unknown@${domain}` })),
    channels: servers.map(({ domain, port }) => ({
      slug: eventOf(domain),
      name: domain,
      type: 'email',
      providers: [{ ...common, port, bounce_domain: bounceDomain }],
    })),
    projects: [
      {
        slug: 'shop',
        name: 'Shop',
        applications: [{ slug: 'web', name: 'Web', events: servers.map(({ domain }) => eventFor(domain)) }],
      },
    ],
  };
}

function eventFor(domain: string): object {
  const recipients = { users: `email == 'unknown@${domain}'` };
  const message = { subject: 'Order', body: 'It is on its way.' };
  const notifications = [{ name: 'notify', recipients, channels: [eventOf(domain)], message }];
  return { slug: eventOf(domain), name: domain, notifications };
}

/** Waits for an outcome; `explain` says what went on instead. */
async function until(read: () => Promise<string>, wanted: string, explain: () => Promise<string>): Promise<void> {
  const deadline = Date.now() + secondsToBounce * 1_000;
  let found = '';
  await eventually(wanted, async () => {
    found = await read();
    return found === wanted || Date.now() > deadline;
  });
  if (found !== wanted) throw new Error(`a delivery is ${found || 'missing'} instead of ${wanted}. ${await explain()}`);
}
