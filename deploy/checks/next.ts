/**
 * Builds a Next.js application with @belfry/inbox/react (next-app/), and opens it in a browser with a real Belfry: the inbox is used in a
 * server component, as a page of Next.js is, and its hook in a client component. Next.js is installed into a temporary folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { findChromium } from '../../test/support/chromium.ts';
import { readBlocks } from '../../test/support/guides.ts';
import { freePort } from '../../test/support/postgres.ts';
import { atExit, cleanEnv, eventually, root, run, Skipped, startServer, temporaryFolder } from './support.ts';

const username = 'jane@acme.test';
/** Errors of npm that mean that the registry did not answer, or does not have a package. */
const isUnavailable = /code:? '?(E404|ETARGET|ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|E5\d\d|ENETUNREACH|EIDLETIMEOUT)/;

export async function checkNext(): Promise<string> {
  const browser = await findChromium();
  if (!browser) throw new Skipped('there is no Chromium: name one in CHROMIUM');
  const app = temporaryFolder('next');
  await cp(path.join(root, 'deploy/checks/next-app'), app, { recursive: true });
  await install(app);
  const next = path.join(app, 'node_modules/next/dist/bin/next');
  await run(process.execPath, [next, 'build'], { cwd: app, env: { NEXT_TELEMETRY_DISABLED: '1' } });

  const database = await openEmbedded({ dataDir: temporaryFolder('next-database'), durable: false });
  const origin = `http://127.0.0.1:${await freePort()}`;
  const env = {
    DATABASE_URL: database.url,
    CORS_ORIGINS: origin,
    BELFRY_SECRET_KEY: 'a secret of 32 characters or more',
  };
  const program = [process.execPath, path.join(root, 'bin/belfry.js')] as const;
  const belfry = async (...args: string[]) => (await run(program[0], [program[1], ...args], { cwd: app, env })).trim();
  try {
    await writeFile(path.join(app, 'inbox.yaml'), await guideConfiguration());
    await belfry('migrate');
    await belfry('apply', 'inbox.yaml');
    const key = await belfry('key', 'create', '--org', 'acme', '--name', 'app', '--permission', '*');
    const server = await startServer([...program, 'serve'], app, env);
    try {
      const call = api(server.address, key);
      const pages = await startNext(app, next, origin, { BELFRY_URL: server.address, BELFRY_KEY: key });
      const version = JSON.parse(await readFile(path.join(app, 'node_modules/next/package.json'), 'utf8')).version;
      await readMessages(browser, origin, call).finally(() => pages.kill());
      return `Next.js ${version} builds; in Chromium the list loads, a new message arrives, and one is marked as read`;
    } finally {
      await server.stop();
    }
  } finally {
    await database.release();
  }
}

async function install(app: string): Promise<void> {
  await run('npm', ['pack', '--silent', '--pack-destination', app], { cwd: path.join(root, 'sdk/inbox') });
  const packed = (await readdir(app)).find(name => name.endsWith('.tgz'))!;
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1'];
  await run('npm', ['install', ...options, '--fetch-timeout=30000', `./${packed}`], { cwd: app }).catch(error => {
    if (isUnavailable.test(String(error)))
      throw new Skipped('Next.js could not be installed: the registry did not answer');
    throw error;
  });
}

/** The configuration of docs/guides/inbox.md: an organization with an inbox channel. */
async function guideConfiguration(): Promise<string> {
  const guide = await readFile(path.join(root, 'docs/guides/inbox.md'), 'utf8');
  return readBlocks(guide).find(({ language }) => language === 'yaml')!.text;
}

type Call = (path: string, body?: object) => Promise<unknown>;

function api(address: string, key: string): Call {
  return async (where, body) => {
    const response = await fetch(`${address}/api/o/acme/${where}`, {
      headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${where} responds with ${response.status}: ${await response.text()}`);
    return response.json();
  };
}

async function startNext(
  app: string,
  next: string,
  origin: string,
  env: Record<string, string>,
): Promise<ChildProcess> {
  const { hostname, port } = new URL(origin);
  const child = spawn(process.execPath, [next, 'start', '--hostname', hostname, '--port', port], {
    cwd: app,
    env: cleanEnv({ ...env, NEXT_TELEMETRY_DISABLED: '1' }),
  });
  atExit(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text));
  const html = await eventually('Next.js to listen', async () => {
    if (child.exitCode !== null) throw new Error(`next start exited with ${child.exitCode}:\n${output}`);
    return fetch(origin).then(
      response => response.text(),
      () => undefined,
    );
  });
  if (html.includes('<belfry-inbox')) return child;
  child.kill();
  throw new Error(`the server does not render the inbox:\n${html.slice(0, 1_000)}`);
}

async function readMessages(
  found: { executablePath: string; env?: Record<string, string> },
  origin: string,
  call: Call,
) {
  const browser = await chromium.launch({
    executablePath: found.executablePath,
    env: { ...process.env, ...found.env },
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', message => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', error => complaints.push(String(error)));
    const shows = (count: number) =>
      Promise.all([
        page.getByRole('button', { name: `Notifications, ${count} unread` }).waitFor(),
        page.getByText(`${count} unread`, { exact: true }).waitFor(),
      ]);
    const send = (who: string) =>
      call('p/shop/a/web/e/expense-asked/trigger/', {
        context: { id: 7, who, amount: '90 EUR', reason: 'Train' },
        options: { recipients: [username] },
      });
    await send('Joe');
    await eventually('the first message', async () => (await unread(call)) === 1);
    await page.goto(origin);
    await shows(1);
    await send('Ann');
    await shows(2);
    await page.getByRole('button', { name: 'Notifications, 2 unread' }).click();
    await page.getByRole('button', { name: 'Ann asks for 90 EUR (Unread)' }).click();
    await shows(1);
    await eventually('the message to be read', async () => (await unread(call)) === 1);
    await page.reload();
    await shows(1);
    if (complaints.length > 0) throw new Error(`the browser reports errors:\n${complaints.join('\n')}`);
  } finally {
    await browser.close();
  }
}

async function unread(call: Call): Promise<number> {
  return ((await call(`u/${username}/inbox/counts/`)) as { unread: number }).unread;
}
