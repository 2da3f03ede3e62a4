/**
 * The image, without containers: the steps of the Dockerfile are read from it and run in an empty folder, and what they
 * leave is run as the Dockerfile says, by a user who may write nowhere. Two things differ. `npm ci` is not run: the
 * packages and the console that it made here already take its place. And the base images are not there: their Node.js is
 * the one that runs this.
 */
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { instructionsOf, isIgnored } from './dockerfile.ts';
import { rememberPacked } from './package.ts';
import { cleanEnv, countSent, requirePages, root, run, startServer, temporaryFolder } from './support.ts';

/** With a base image of 175 MB it stays below 250. */
const largestMb = 70;
const secret = 'a secret of at least 32 characters';

export async function checkImage(): Promise<string> {
  const world = temporaryFolder('image');
  await chmod(world, 0o755);
  const place = (text: string) => text.replaceAll(/(^|[\s="'[])\/(src|out|opt)\b/g, `$1${world}/$2`);
  const image = { env: {} as Record<string, string>, user: '', entrypoint: [], command: [], health: [] as string[] };
  let workdir = '/';

  for (const { name, text } of instructionsOf(await readFile(path.join(root, 'deploy/Dockerfile'), 'utf8'))) {
    if (name === 'FROM') workdir = '/';
    else if (name === 'WORKDIR') {
      workdir = text;
      await mkdir(place(workdir), { recursive: true });
    } else if (name === 'COPY' && text === '. .') await copyContext(place(workdir));
    else if (name === 'COPY' && text.startsWith('--from=')) continue;
    else if (name === 'RUN' && text === 'npm ci') await linkPackages(place(workdir));
    else if (name === 'RUN') {
      await mkdir(path.join(world, 'out'), { recursive: true });
      const env = { npm_config_prefer_offline: 'true' };
      await run('sh', ['-c', place(text)], { cwd: workdir === '/' ? world : place(workdir), env });
    } else if (name === 'ENV') Object.assign(image.env, Object.fromEntries(text.split(' ').map(one => one.split('='))));
    else if (name === 'USER') image.user = text;
    else if (name === 'ENTRYPOINT') image.entrypoint = JSON.parse(text);
    else if (name === 'CMD') image.command = JSON.parse(text);
    else if (name === 'HEALTHCHECK') image.health = JSON.parse(text.replace(/^.*? CMD /, ''));
    else if (!['EXPOSE', 'STOPSIGNAL'].includes(name)) throw new Error(`deploy/check knows no step ${name}`);
  }

  const [packed = ''] = await readdir(path.join(world, 'out'));
  rememberPacked(path.join(world, 'out', packed));
  const megabytes = Number((await run('du', ['-sm', path.join(world, 'opt')])).split('\t')[0]);
  if (megabytes > largestMb) throw new Error(`Belfry takes ${megabytes} MB of the image, more than ${largestMb}`);
  const words = (list: string[]) =>
    asUser(
      image.user,
      list.map(word => (word === '/nodejs/bin/node' ? process.execPath : place(word))),
    );
  const sent = await tryOut({ ...image, words });
  return `${megabytes} MB beside Node.js; unprivileged on read-only files it delivered to ${sent}`;
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

/** Only root can become somebody else. */
function asUser(user: string, words: string[]): string[] {
  if (process.getuid?.() !== 0) return words;
  const [uid = '', gid = uid] = user.split(':');
  if (!/^[1-9]\d*$/.test(uid)) throw new Error(`the image runs as the user "${user}": a number above 0 is needed`);
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--', ...words];
}

interface Image {
  env: Record<string, string>;
  entrypoint: string[];
  command: string[];
  health: string[];
  words(list: string[]): string[];
}

async function tryOut({ env, entrypoint, command, health, words }: Image): Promise<number> {
  const database = await openEmbedded({ dataDir: temporaryFolder('image-database'), durable: false });
  const cwd = '/';
  try {
    // A port and no socket: the user of the image may not enter the folder that holds it.
    const settings = {
      ...env,
      DATABASE_URL: onLoopback(database.url),
      BELFRY_SECRET_KEY: secret,
      BASE_URL: 'https://notify.example.com',
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
    };
    const [program = '', ...args] = words(entrypoint);
    const belfry = (...more: string[]) => run(program, [...args, ...more], { cwd, env: settings });
    await belfry('migrate');
    await belfry('apply', await exampleFile());
    const key = (await belfry('key', 'create', '--org', 'acme', '--name', 'check', '--permission', '*')).trim();
    const server = await startServer([program, ...args, ...command], cwd, settings);
    const askHealth = () =>
      spawnSync(words(health)[0]!, words(health).slice(1), { cwd, env: cleanEnv(settings) }).status;
    let sent: number;
    try {
      if (askHealth() !== 0) throw new Error('HEALTHCHECK finds a server unhealthy that listens');
      await requirePages(server.address);
      const occurrence = await belfry('trigger', 'acme/shop/web/order-paid', '--context', '{"order":"A-1"}');
      sent = await countSent(server.address, key, 'acme', /[\da-f-]{36}/.exec(occurrence)![0]);
    } finally {
      await server.stop();
    }
    if (askHealth() === 0) throw new Error('HEALTHCHECK finds a server healthy that has stopped');
    return sent;
  } finally {
    await database.release();
  }
}

/** The smallest file of docs/configuration.md. */
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
