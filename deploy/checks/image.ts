/**
 * Checks the image without containers: runs the steps of the Dockerfile in an empty folder, and the result as the Dockerfile says, as a
 * user without write access. Two things differ: instead of running `npm ci`, it uses the packages and the console that are already here;
 * and instead of the Node.js of the base images, it uses the one that runs this script.
 */
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { instructionsOf, isIgnored } from './dockerfile.ts';
import { reusePacked } from './package.ts';
import { cleanEnv, countSent, requirePages, root, run, startServer, temporaryFolder } from './support.ts';

/** With a base image of 175 MB, the total stays below 210 MB. */
const maxMb = 35;
const secret = 'a secret of at least 32 characters';

export async function checkImage(): Promise<string> {
  const folder = temporaryFolder('image');
  await chmod(folder, 0o755);
  const relocate = (text: string) => text.replaceAll(/(^|[\s="'[])\/(src|out|opt)\b/g, `$1${folder}/$2`);
  const image = { env: {} as Record<string, string>, user: '', entrypoint: [], command: [], health: [] as string[] };
  let workdir = '/';

  for (const { name, text } of instructionsOf(await readFile(path.join(root, 'deploy/Dockerfile'), 'utf8'))) {
    if (name === 'FROM') workdir = '/';
    else if (name === 'WORKDIR') {
      workdir = text;
      await mkdir(relocate(workdir), { recursive: true });
    } else if (name === 'COPY' && text === '. .') await copyContext(relocate(workdir));
    else if (name === 'COPY' && text.startsWith('--from=')) continue;
    else if (name === 'RUN' && text === 'npm ci') await linkPackages(relocate(workdir));
    else if (name === 'RUN') {
      await mkdir(path.join(folder, 'out'), { recursive: true });
      const env = { npm_config_prefer_offline: 'true' };
      await run('sh', ['-c', relocate(text)], { cwd: workdir === '/' ? folder : relocate(workdir), env });
    } else if (name === 'ENV') Object.assign(image.env, Object.fromEntries(text.split(' ').map(one => one.split('='))));
    else if (name === 'USER') image.user = text;
    else if (name === 'ENTRYPOINT') image.entrypoint = JSON.parse(text);
    else if (name === 'CMD') image.command = JSON.parse(text);
    else if (name === 'HEALTHCHECK') image.health = JSON.parse(text.replace(/^.*? CMD /, ''));
    else if (!['EXPOSE', 'STOPSIGNAL'].includes(name))
      throw new Error(`deploy/check does not support the instruction ${name}`);
  }

  const [packed = ''] = await readdir(path.join(folder, 'out'));
  reusePacked(path.join(folder, 'out', packed));
  const megabytes = Number((await run('du', ['-sm', path.join(folder, 'opt')])).split('\t')[0]);
  if (megabytes > maxMb) throw new Error(`Belfry takes ${megabytes} MB of the image, more than ${maxMb}`);
  const argv = (list: string[]) =>
    asUser(
      image.user,
      list.map(arg => (arg === '/nodejs/bin/node' ? process.execPath : relocate(arg))),
    );
  const sent = await testImage({ ...image, argv });
  return `${megabytes} MB without Node.js; as an unprivileged user on read-only files it delivered to ${sent} recipients`;
}

async function copyContext(target: string): Promise<void> {
  const rules = (await readFile(path.join(root, '.dockerignore'), 'utf8')).split('\n');
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  for (const file of listed.split('\0').filter(name => name && !isIgnored(name, rules))) {
    await cp(path.join(root, file), path.join(target, file));
  }
}

async function linkPackages(target: string): Promise<void> {
  await symlink(path.join(root, 'node_modules'), path.join(target, 'node_modules'));
  await cp(path.join(root, 'console/dist'), path.join(target, 'console/dist'), { recursive: true });
}

/** Returns a command that runs as this user; only root can switch users. */
function asUser(user: string, argv: string[]): string[] {
  if (process.getuid?.() !== 0) return argv;
  const [uid = '', gid = uid] = user.split(':');
  if (!/^[1-9]\d*$/.test(uid)) throw new Error(`the image runs as the user "${user}": a number above 0 is needed`);
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--', ...argv];
}

interface Image {
  env: Record<string, string>;
  entrypoint: string[];
  command: string[];
  health: string[];
  argv(list: string[]): string[];
}

async function testImage({ env, entrypoint, command, health, argv }: Image): Promise<number> {
  const database = await openEmbedded({ dataDir: temporaryFolder('image-database'), durable: false });
  const cwd = '/';
  try {
    // Uses a port instead of a socket, because the image's user cannot access the socket's folder.
    const settings = {
      ...env,
      DATABASE_URL: onLoopback(database.url),
      BELFRY_SECRET_KEY: secret,
      BASE_URL: 'https://notify.example.com',
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
    };
    const [program = '', ...args] = argv(entrypoint);
    const belfry = (...more: string[]) => run(program, [...args, ...more], { cwd, env: settings });
    await belfry('migrate');
    await belfry('apply', await exampleFile());
    const key = (await belfry('key', 'create', '--org', 'acme', '--name', 'check', '--permission', '*')).trim();
    const server = await startServer([program, ...args, ...command], cwd, settings);
    const healthStatus = () =>
      spawnSync(argv(health)[0]!, argv(health).slice(1), { cwd, env: cleanEnv(settings) }).status;
    let sent: number;
    try {
      if (healthStatus() !== 0) throw new Error('HEALTHCHECK fails for a running server');
      await requirePages(server.address);
      const occurrence = await belfry('trigger', 'acme/shop/web/order-paid', '--context', '{"order":"A-1"}');
      sent = await countSent(server.address, key, 'acme', /[\da-f-]{36}/.exec(occurrence)![0]);
    } finally {
      await server.stop();
    }
    if (healthStatus() === 0) throw new Error('HEALTHCHECK succeeds for a stopped server');
    return sent;
  } finally {
    await database.release();
  }
}

/** Writes the smallest example of docs/configuration.md to a file. */
async function exampleFile(): Promise<string> {
  const page = await readFile(path.join(root, 'docs/configuration.md'), 'utf8');
  const folder = temporaryFolder('image-example');
  await chmod(folder, 0o755);
  const file = path.join(folder, 'acme.yaml');
  await writeFile(file, /```yaml\n(organizations:.*?)```/s.exec(page)![1]!);
  return file;
}

function onLoopback(url: string): string {
  return url.replace(/@[^:/]+:/, '@127.0.0.1:');
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
