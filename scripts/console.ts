/**
 * Builds the web console and the embeddable inbox into console/dist if their sources have changed since the last build. Runs after
 * `npm ci`, and before `npm start` if prepare-start.sh finds newer files. Without the development packages nothing is built, and an
 * existing build is kept.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { RolldownOutput } from 'rolldown';
import { writeNotices } from './notices.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = path.join(root, 'console');
const dist = path.join(folder, 'dist');
/** Compressing smaller files would not save a network packet. */
const minCompressedBytes = 1_000;

/** Returns whether it built; false if the console was up to date. */
export async function buildConsole(): Promise<boolean> {
  const began = new Date();
  const hash = await hashSources();
  const stamp = path.join(dist, 'sources.txt');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === hash) {
    // For prepare-start.sh: files older than this do not have to be checked again.
    await utimes(stamp, began, began);
    return false;
  }
  const { build } = await import('vite');
  const { writeConsoleTypes } = await import('./console-types.ts');
  await writeConsoleTypes();
  // Builds into a temporary folder, because a running server still serves the old build.
  const fresh = path.join(folder, `dist-${process.pid}`);
  // Under a test runner's NODE_ENV, React would include its development tools and be a fifth larger.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    const options = {
      configFile: path.join(folder, 'vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: fresh },
    } as const;
    const { output } = (await build(options)) as RolldownOutput;
    await writeNotices(fresh, [...modulesOf(output), ...(await buildInbox(fresh)), ...(await buildWorker(fresh))]);
    await compress(fresh);
    await writeFile(path.join(fresh, 'sources.txt'), hash);
    // Files that change during the build are newer than this.
    await utimes(path.join(fresh, 'sources.txt'), began, began);
    await rm(dist, { recursive: true, force: true });
    await rename(fresh, dist);
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
    await rm(fresh, { recursive: true, force: true });
  }
  return true;
}

async function hashSources(): Promise<string> {
  const own = (await filesIn(folder)).filter(name => !/^dist|^src\/api-types\.ts$/.test(name));
  const core = (await filesIn(path.join(root, 'src/core'))).map(name => `src/core/${name}`);
  const inbox = (await filesIn(path.join(root, 'sdk/inbox/src'))).map(name => `sdk/inbox/src/${name}`);
  const others = [
    'openapi.json',
    ...inbox,
    'package-lock.json',
    'scripts/console.ts',
    'scripts/console-types.ts',
    'scripts/notices.ts',
    ...core,
  ];
  const files = [...own.map(name => `console/${name}`), ...others];
  const hash = createHash('sha256');
  for (const name of files) hash.update(`${name}\0`).update(await readFile(path.join(root, name)));
  return hash.digest('hex');
}

/** Builds the embeddable inbox, `/inbox.js`, and the service worker that shows push messages; returns the files in them. */
async function buildInbox(target: string): Promise<string[]> {
  const { rolldown } = await import('rolldown');
  const modules: string[] = [];
  const files = { 'inbox.js': 'index.ts', 'inbox-sw.js': 'service-worker.ts' };
  for (const [name, source] of Object.entries(files)) {
    const bundle = await rolldown({ input: path.join(root, 'sdk/inbox/src', source), platform: 'browser' });
    const { output } = await bundle.write({ file: path.join(target, name), format: 'esm', minify: true });
    modules.push(...modulesOf(output));
    await bundle.close();
  }
  return modules;
}

/** Pages that start without a connection: what they import is kept by the service worker. */
const shellEntries = ['index.html', 'src/frame.tsx', 'src/pages/pager/pager.tsx', 'src/pages/pager/responses.tsx'];

/** Builds the service worker of the pager, `/console-sw.js`, with the names of the files that it keeps; returns the files in it. */
async function buildWorker(target: string): Promise<string[]> {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ input: path.join(folder, 'src/pager/worker.ts'), platform: 'browser' });
  const { output } = await bundle.generate({ format: 'iife', minify: true });
  await bundle.close();
  const manifest = JSON.parse(await readFile(path.join(target, 'manifest.json'), 'utf8')) as Record<string, ViteChunk>;
  const files = listShellFiles(manifest);
  const index = await readFile(path.join(target, 'index.html'), 'utf8');
  const code = output[0].code;
  const version = createHash('sha256').update(index).update(files.join()).update(code).digest('hex').slice(0, 16);
  const shell = JSON.stringify({ version, files });
  await writeFile(path.join(target, 'console-sw.js'), `self.belfryShell=${shell};\n${code}`);
  return modulesOf(output);
}

interface ViteChunk {
  file: string;
  imports?: string[];
  css?: string[];
  assets?: string[];
}

/** Returns the paths of the pages' files, of all that they import, and of the files in public/ that they show. */
function listShellFiles(manifest: Record<string, ViteChunk>): string[] {
  const found = new Set<string>();
  const seen = new Set<string>();
  const visit = (name: string): void => {
    const chunk = manifest[name];
    if (!chunk) throw new Error(`the build has no ${name}: see shellEntries in scripts/console.ts`);
    if (seen.has(name)) return;
    seen.add(name);
    for (const file of [chunk.file, ...(chunk.css ?? []), ...(chunk.assets ?? [])]) found.add(`/${file}`);
    chunk.imports?.forEach(visit);
  };
  shellEntries.forEach(visit);
  return [...found, '/belfry.svg', '/icon-192.png', '/scheme.js'].sort();
}

function modulesOf(output: RolldownOutput['output']): string[] {
  return output.flatMap(one => (one.type === 'chunk' ? one.moduleIds : []));
}

/** Compresses once instead of with every response: writes a `.br` and a `.gz` next to each file. */
async function compress(target: string): Promise<void> {
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
  const names = (await filesIn(target)).filter(name => /\.(js|css|svg|webmanifest)$/.test(name));
  await Promise.all(
    names.map(async name => {
      const file = path.join(target, name);
      const bytes = await readFile(file);
      if (bytes.length < minCompressedBytes) return;
      await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, brotli));
      await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }));
    }),
  );
}

async function filesIn(target: string): Promise<string[]> {
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile())
    .map(entry => path.relative(target, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .sort();
}

if (import.meta.main) {
  if (existsSync(path.join(root, 'node_modules/vite'))) {
    const start = performance.now();
    if (await buildConsole()) console.log(`Built the console in ${Math.round(performance.now() - start)} ms.`);
  } else if (!existsSync(dist)) {
    console.warn('The console is not built, because it needs the development packages. The API works without it.');
  }
}
