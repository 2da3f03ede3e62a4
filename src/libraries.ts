/**
 * Libraries come as hundreds of small files, and reading 1,700 of them took most of a start: typebox and kysely alone
 * 500 ms of processor time and 37 MB, which are 40 ms and 10 MB as two files. scripts/libraries.ts bundles them into
 * node_modules/.cache; here the bundles take the place of the packages. Bundles of other packages than those that are
 * installed are not used, and without any the packages themselves are read: slower, and the same otherwise.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface Manifest {
  /** Of the list of installed packages that the bundles were made from. */
  packages: string;
  /** Import → file. */
  files: Record<string, string>;
}

const modules = new URL('../node_modules/', import.meta.url);
/** Without a slash at its end. */
export const folder: string = fileURLToPath(new URL('.cache/belfry-libraries', modules));

/** npm writes down what it installed; undefined where another program did. */
export function packagesHash(): string | undefined {
  const list = read(fileURLToPath(new URL('.package-lock.json', modules)));
  return list && createHash('sha256').update(list).digest('hex');
}

/** Import → address of its bundle; undefined when there are none that fit. */
export function findBundles(): Map<string, string> | undefined {
  const text = read(`${folder}/manifest.json`);
  if (!text) return undefined;
  const { packages, files } = JSON.parse(text) as Manifest;
  if (packages !== packagesHash()) return undefined;
  return new Map(Object.entries(files).map(([name, file]) => [name, pathToFileURL(`${folder}/${file}`).href]));
}

/** For everything that this thread imports from now on. */
export function preferBundles(): void {
  const bundles = findBundles();
  if (!bundles) return;
  registerHooks({
    resolve(specifier, context, next) {
      const url = bundles.get(specifier);
      return url ? { url, format: 'module', shortCircuit: true } : next(specifier, context);
    },
  });
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
