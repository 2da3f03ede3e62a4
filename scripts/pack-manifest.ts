/**
 * Writes the package.json of the package before `npm pack`, and restores that of the clone afterwards (`--restore`). The package needs
 * Node.js 24 and is built already; a clone also works with an older Node.js, which then fetches the right one.
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';

interface Manifest {
  engines: Record<string, string>;
  scripts: Record<string, string>;
}

const root = new URL('../', import.meta.url);
const manifest = new URL('package.json', root);
const saved = new URL('node_modules/.cache/package.json', root);

export function toPackedManifest(text: string): string {
  const { scripts, ...rest } = JSON.parse(text) as Manifest;
  const { prepare: _, ...others } = scripts;
  return `${JSON.stringify({ ...rest, engines: { node: '>=24' }, scripts: others }, null, 2)}\n`;
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
