/**
 * Lists the packages whose code is in a bundle: with their licenses, which most require to be passed on with the code
 * (THIRD_PARTY_NOTICES.txt), and as a bill of materials for scanners, which otherwise find only packages that are installed
 * (bundled.cdx.json).
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

interface Package {
  name: string;
  version: string;
  license: string;
  /** Where the source is, which the Mozilla Public License wants to be named. */
  source: string;
  texts: string[];
}

interface Manifest {
  name: string;
  version: string;
  license: string;
  author?: string | { name: string };
  repository?: string | { url: string };
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
const licenseFile = /^(licen[cs]e|copying|notice)([-.].*)?$/i;
const separator =
  '\n\n---------------------------------------------------------------------------------------------------\n\n';

/** Writes both lists into the folder of a bundle. `moduleIds` are the files whose code is in it. */
export async function writeNotices(folder: string, moduleIds: Iterable<string>): Promise<void> {
  const packages = await Promise.all(packageFolders(moduleIds).map(readPackage));
  packages.sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1));
  const head = 'The files in this folder contain code of the following packages.';
  const notices = packages.map(({ name, version, license, source, texts }) =>
    [`${name} ${version} (${license})\n${source}`.trim(), ...texts].join('\n\n'),
  );
  await writeFile(path.join(folder, 'THIRD_PARTY_NOTICES.txt'), `${[head, ...notices].join(separator)}\n`);
  await writeFile(path.join(folder, 'bundled.cdx.json'), `${JSON.stringify(toBill(packages), null, 2)}\n`);
}

/** Returns the folders of the packages that the files belong to; two versions of a package have two folders. */
export function packageFolders(moduleIds: Iterable<string>): string[] {
  const folders = new Set<string>();
  for (const id of moduleIds) {
    // Ids of modules that a bundler has generated from a file start with a null character.
    const [folder] = /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replace(/^\0/, '')) ?? [];
    if (folder) folders.add(folder);
  }
  return [...folders];
}

async function readPackage(folder: string): Promise<Package> {
  const text = await readFile(path.join(folder, 'package.json'), 'utf8');
  const { name, version, license, author, repository } = JSON.parse(text) as Manifest;
  if (typeof license !== 'string') throw new Error(`${name} does not say what its license is`);
  const files = (await readdir(folder)).filter(file => licenseFile.test(file)).sort();
  const texts = await Promise.all(files.map(async file => (await readFile(path.join(folder, file), 'utf8')).trim()));
  const source = typeof repository === 'object' ? repository.url : (repository ?? '');
  if (texts.length > 0) return { name, version, license, source, texts };
  const holder = typeof author === 'object' ? author.name : author?.replace(/ [<(].*/, '');
  return { name, version, license, source, texts: [standardText(license, holder ?? `the authors of ${name}`)] };
}

/** Returns the text for a package that contains only the name of its license; so far, that is always MIT. */
function standardText(license: string, holder: string): string {
  if (license !== 'MIT') throw new Error(`a package under ${license} contains no license file: add the text here`);
  return `Copyright (c) ${holder}\n\n${mit}`;
}

function toBill(packages: Package[]): object {
  const components = packages.map(({ name, version, license }) => ({
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ expression: license }],
  }));
  return { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components };
}
