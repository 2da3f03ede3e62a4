/**
 * Writes the package.json of the package before `npm pack`, and restores that of the clone afterwards (`--restore`). The package needs
 * Node.js 24, is built already, and depends only on the libraries that are not bundled; a clone also works with an older Node.js, which
 * then fetches the right one.
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';

interface Manifest {
  engines: Record<string, string>;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
}

/** Libraries that the built program imports: see `external` in build.ts. */
const unbundled = ['pino', 'pino-pretty'];

const root = new URL('../', import.meta.url);
const manifest = new URL('package.json', root);
const saved = new URL('node_modules/.cache/package.json', root);

export function toPackedManifest(text: string): string {
  const manifest = JSON.parse(text) as Manifest;
  const { prepare: _, ...scripts } = manifest.scripts;
  const dependencies = Object.fromEntries(unbundled.map(name => [name, manifest.dependencies[name]]));
  return `${JSON.stringify({ ...manifest, scripts, dependencies, engines: { node: '>=24' } }, null, 2)}\n`;
}

async function restore(): Promise<void> {
  if (existsSync(saved)) await rename(saved, manifest);
}

if (import.meta.main) {
  // Also if a previous pack was interrupted.
  await restore();
  if (!process.argv.includes('--restore')) {
    await mkdir(new URL('./', saved), { recursive: true });
    await copyFile(manifest, saved);
    await writeFile(manifest, toPackedManifest(await readFile(manifest, 'utf8')));
  }
}
