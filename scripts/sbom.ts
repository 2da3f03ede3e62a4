/**
 * Writes the software bill of materials of a release, as CycloneDX: every package of the lock file with its version and checksum.
 * Packages for building and testing are marked as development; the console is built from some of them.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { npm } from './npm.ts';

const timeoutMs = 300_000;

const { name, version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
  name: string;
  version: string;
};
const text = await npm(['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {}, timeoutMs);
const bill = JSON.parse(text) as { metadata: { component: { name: string; type: string } } };
// npm uses the folder's name, and the type `library` for everything.
Object.assign(bill.metadata.component, { name, type: 'application' });
const file = process.argv[2] ?? `${name}-${version}.cdx.json`;
await writeFile(file, `${JSON.stringify(bill, null, 2)}\n`);
console.log(`Wrote ${file}.`);
