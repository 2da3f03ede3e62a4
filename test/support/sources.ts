/** Source files of the server, for tests that read the code. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** Paths relative to src/. */
export const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .sort();

export function textOf(file: string): string {
  return readFileSync(path.join(src, file), 'utf8');
}

/** Returns the top-level folder, or the file itself if it is in none. */
export function layerOf(file: string): string {
  return file.includes('/') ? file.split('/')[0]! : file;
}
