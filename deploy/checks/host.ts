/** Checks the files for machines without Kubernetes: compose.yaml, the systemd unit and the proxy examples. */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { settings } from '../../src/config.ts';
import { hasProgram, root, run, Skipped, temporaryFolder } from './support.ts';

/** Out of 10. systemd rates up to 4.9 as "OK"; a service without hardening has 9.6. */
const maxExposure = 2;

interface Compose {
  services: Record<string, { environment?: Record<string, string>; depends_on?: Record<string, unknown> }>;
}

export async function checkCompose(): Promise<string> {
  const file = path.join(root, 'deploy/compose.yaml');
  const { services } = parse(await readFile(file, 'utf8'), { merge: true }) as Compose;
  for (const [name, { depends_on = {} }] of Object.entries(services)) {
    const missing = Object.keys(depends_on).filter(other => !(other in services));
    if (missing.length > 0) throw new Error(`${name} depends on ${missing.join(', ')}, which does not exist`);
  }
  refuseUnknownSettings(Object.keys(services.belfry?.environment ?? {}));
  if (!(await hasCompose()))
    return `${Object.keys(services).join(', ')}; docker compose is not installed to validate it`;
  await run('docker', ['compose', '--file', file, 'config', '--quiet'], { env: { BELFRY_SECRET_KEY: 'a'.repeat(32) } });
  return 'docker compose accepts it';
}

async function hasCompose(): Promise<boolean> {
  return run('docker', ['compose', 'version']).then(
    () => true,
    () => false,
  );
}

export async function checkSystemd(): Promise<string> {
  const text = await readFile(path.join(root, 'deploy/systemd/belfry.service'), 'utf8');
  const assigned = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, all = '']) => all.split(' '));
  refuseUnknownSettings(assigned.map(one => one.split('=')[0]!).filter(name => name !== 'NODE_ENV'));
  if (!hasProgram('systemd-analyze')) throw new Skipped('systemd-analyze is not installed');
  // systemd-analyze checks that the program exists.
  const folder = temporaryFolder('systemd');
  const program = path.join(folder, 'belfry');
  await writeFile(program, '#!/bin/sh\n');
  await chmod(program, 0o755);
  const unit = path.join(folder, 'belfry.service');
  await writeFile(unit, text.replace('/opt/belfry/node_modules/.bin/belfry', program));
  const output = await run('sh', ['-c', `systemd-analyze verify --man=no ${unit} 2>&1`]);
  const ours = output.split('\n').filter(line => line.includes('belfry.service'));
  if (ours.length > 0) throw new Error(ours.join('\n'));
  const review = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', unit]);
  const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(review)?.[1]);
  if (!(exposure <= maxExposure)) throw new Error(`the exposure is ${exposure}, more than ${maxExposure}`);
  return `verified; exposure ${exposure} of 10`;
}

export async function checkProxies(): Promise<string> {
  const done: string[] = [];
  if (hasProgram('nginx')) {
    const folder = temporaryFolder('nginx');
    await mkdir(path.join(folder, 'logs'));
    const [key, certificate] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
    const names = ['-subj', '/CN=notify.example.com', '-keyout', key, '-out', certificate];
    await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...names]);
    const example = await readFile(path.join(root, 'deploy/nginx/belfry.conf'), 'utf8');
    const local = example.replace(/\/etc\/\S+fullchain\.pem/, certificate).replace(/\/etc\/\S+privkey\.pem/, key);
    await writeFile(path.join(folder, 'belfry.conf'), local);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${folder}/${name};`,
    );
    const http = `access_log off; ${paths.join(' ')} include ${folder}/belfry.conf;`;
    const main = `error_log stderr; pid ${folder}/pid; events {} http { ${http} }`;
    await writeFile(path.join(folder, 'nginx.conf'), main);
    await run('nginx', ['-t', '-q', '-p', folder, '-c', path.join(folder, 'nginx.conf')]);
    done.push('nginx accepts its example');
  }
  if (hasProgram('caddy')) {
    const file = path.join(root, 'deploy/caddy/Caddyfile');
    await run('caddy', ['validate', '--adapter', 'caddyfile', '--config', file]);
    done.push('Caddy accepts its example');
  }
  if (done.length === 0) throw new Skipped('neither nginx nor caddy is installed');
  return done.join('; ');
}

function refuseUnknownSettings(names: string[]): void {
  const unknown = names.filter(name => !(name.replace(/_FILE$/, '') in settings));
  if (unknown.length > 0) throw new Error(`sets ${unknown.join(', ')}, which is not a Belfry setting`);
}
