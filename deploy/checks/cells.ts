/**
 * Checks the proxies in front of several cells. nginx, installed or unpacked from Debian's package, runs with the example and
 * real servers behind it; Caddy validates its own, if it is installed; the paths of the Ingress are compared with both.
 */
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { parse } from 'yaml';
import { freePort } from '../../test/support/postgres.ts';
import { fetchPackages } from './mail-servers.ts';
import { atExit, cleanEnv, eventually, hasProgram, root, run, Skipped, temporaryFolder } from './support.ts';

/** Which cell must get which path. */
const expected: Record<string, string> = {
  '/': 'cell1',
  '/api/session/': 'cell1',
  '/api/o/other/occurrence/': 'cell1',
  '/api/o/acme/p/shop/a/web/e/go/trigger/': 'cell2',
  '/api/o/acme-2/occurrence/': 'cell1',
  '/api/o/initech/': 'cell2',
  '/preferences/token': 'cell1',
};

export async function checkCells(): Promise<string> {
  const done = [await checkIngress(), await checkCaddy(), await checkNginx()];
  return done.filter(Boolean).join('; ');
}

interface Ingress {
  apiVersion: string;
  kind: string;
  spec: { rules: { http: { paths: { path: string; pathType: string; backend: { service: { name: string } } }[] } }[] };
}

/** Routes as the Ingress API specifies: the longest prefix wins. */
async function checkIngress(): Promise<string> {
  const ingress = parse(await readFile(path.join(root, 'deploy/kubernetes/cells-ingress.yaml'), 'utf8')) as Ingress;
  if (`${ingress.apiVersion} ${ingress.kind}` !== 'networking.k8s.io/v1 Ingress') throw new Error('not an Ingress');
  const paths = ingress.spec.rules.flatMap(({ http }) => http.paths);
  for (const [url, cell] of Object.entries(expected)) {
    const matching = paths.filter(one => `${url}/`.startsWith(one.path)).sort((a, b) => b.path.length - a.path.length);
    const actual = matching[0]?.backend.service.name.replace(/^belfry-/, '');
    if (actual !== cell) throw new Error(`the Ingress routes ${url} to ${actual} instead of ${cell}`);
  }
  return 'the Ingress routes by organization';
}

async function checkCaddy(): Promise<string | undefined> {
  if (!hasProgram('caddy')) return undefined;
  const file = path.join(root, 'deploy/caddy/Caddyfile.cells');
  await run('caddy', ['validate', '--adapter', 'caddyfile', '--config', file]);
  return 'Caddy accepts its example';
}

async function checkNginx(): Promise<string> {
  const folder = temporaryFolder('cells');
  const { program, env } = await findNginx(folder);
  const cells = await Promise.all(['cell1', 'cell2'].map(startCell));
  try {
    const port = await freePort();
    await writeFile(path.join(folder, 'nginx.conf'), await configure(folder, port, cells));
    const nginx = spawn(program, ['-p', folder, '-c', path.join(folder, 'nginx.conf'), '-g', 'daemon off;'], {
      env: cleanEnv(env),
      stdio: 'inherit',
    });
    atExit(() => nginx.kill());
    try {
      await eventually('nginx to listen', () =>
        fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' }).then(
          () => true,
          () => undefined,
        ),
      );
      for (const [url, cell] of Object.entries(expected)) {
        const response = await fetch(`http://127.0.0.1:${port}${url}`, { method: 'POST', redirect: 'manual' });
        const actual = await response.text();
        if (actual !== `${cell} POST ${url}`) throw new Error(`nginx routes ${url} to ${actual} instead of ${cell}`);
        const location = response.headers.get('location');
        if (response.status !== 307 || location !== `https://new.example.com${url}`)
          throw new Error(`nginx changes the redirect of ${url} to ${response.status} ${location}`);
      }
    } finally {
      nginx.kill();
    }
  } finally {
    for (const { server } of cells) server.close();
  }
  return 'nginx routes by organization';
}

async function findNginx(folder: string): Promise<{ program: string; env: Record<string, string> }> {
  if (hasProgram('nginx')) return { program: 'nginx', env: {} };
  if (!hasProgram('apt-get') || !hasProgram('dpkg-deb')) throw new Skipped('nginx is not installed');
  const { folder: unpacked, libraries } = await fetchPackages(folder, ['nginx']);
  return { program: path.join(unpacked, 'usr/sbin/nginx'), env: { LD_LIBRARY_PATH: libraries } };
}

/** Starts a server that answers like a cell that an organization has left, and names itself. */
async function startCell(name: string): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    response.writeHead(307, { location: `https://new.example.com${request.url}` });
    response.end(`${name} ${request.method} ${request.url}`);
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

/** Returns the example with these ports, without TLS. */
async function configure(folder: string, port: number, [first, second]: { port: number }[]): Promise<string> {
  await mkdir(path.join(folder, 'logs'), { recursive: true });
  const example = await readFile(path.join(root, 'deploy/nginx/cells.conf'), 'utf8');
  const local = example
    .replace(/ +listen \[::\]:443 ssl;\n/, '')
    .replace('443 ssl', `127.0.0.1:${port}`)
    .replace(/ +ssl_certificate.*\n/g, '')
    .replace('10.0.1.10:8000', `127.0.0.1:${first!.port}`)
    .replace('10.0.2.10:8000', `127.0.0.1:${second!.port}`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${folder}/${name};`,
  );
  return `error_log stderr; pid ${folder}/pid; events {} http { access_log off; ${paths.join(' ')} ${local} }`;
}
