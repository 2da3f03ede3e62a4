/**
 * Before `npm pack`: writes dist/, the program as JavaScript, because Node.js runs no TypeScript below node_modules. Types
 * are taken away and nothing else is changed, so that a line of a stack trace is the line of the source. What only
 * development needs stays out, and the script of the API reference goes in, so that nobody installs the package that it
 * comes from. A clone goes on running src/.
 */
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

const root = fileURLToPath(new URL('../', import.meta.url));
const source = path.join(root, 'src');
const target = path.join(root, 'dist');
/** Generates openapi.json; and takes the reference's script out of its package, as is done here. */
const leftOut = new Set(['http/openapi-swagger.ts', 'http/pages/scalar-worker.ts']);
/** In an import, or in the address of a file that a thread runs. */
const ownFiles = /(\bfrom |\bimport |\bimport\(|\bnew URL\()'([^']+)\.ts'/g;

await rm(target, { recursive: true, force: true });
for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  const name = path.relative(source, file).replaceAll(path.sep, '/');
  if (!entry.isFile() || leftOut.has(name)) continue;
  const place = path.join(target, name);
  await mkdir(path.dirname(place), { recursive: true });
  if (name.endsWith('.ts')) await writeFile(place.replace(/\.ts$/, '.js'), compile(await readFile(file, 'utf8')));
  else await cp(file, place);
}
const thread = new Worker(path.join(source, 'http/pages/scalar-worker.ts'));
const [script] = (await once(thread, 'message')) as [Uint8Array];
await writeFile(path.join(target, 'http/pages/reference.js'), script);

function compile(text: string): string {
  const lines = stripTypeScriptTypes(text, { mode: 'strip' }).split('\n');
  return lines.map(line => line.trimEnd().replaceAll(ownFiles, "$1'$2.js'")).join('\n');
}
