/** The server's own files, for tests that read the code. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** Below src/. */
export const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .sort();

export function textOf(file: string): string {
  return readFileSync(path.join(src, file), 'utf8');
}

/** The folder; of a file that is in none, the file. */
export function layerOf(file: string): string {
  return file.includes('/') ? file.split('/')[0]! : file;
}
