/** The built program, and schemas that are validated in tests instead of at run time. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseSync } from 'rolldown/utils';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isBuilt, sourceState, stateFile } from '../../bin/build-state.js';
import { buildConsole } from '../../scripts/console.ts';
import { toPackedManifest } from '../../scripts/pack-manifest.ts';
import { OrganizationDocument } from '../../src/core/configuration/document.ts';
import { routes } from '../../src/http/routes.ts';
import { providers } from '../../src/providers/index.ts';
import { root } from '../support/process.ts';

let clone: string;
let built: Map<string, string[]>;

beforeAll(async () => {
  built = await readBuilt();
  clone = await mkdtemp(path.join(tmpdir(), 'belfry-clone-'));
  await mkdir(path.join(clone, 'dist'));
});
afterAll(() => rm(clone, { recursive: true }));

/** As after a build: what each test changes of it is what it is about. */
async function buildClone(): Promise<void> {
  await rm(path.join(clone, 'src'), { recursive: true, force: true });
  await mkdir(path.join(clone, 'src/core'), { recursive: true });
  await writeFile(path.join(clone, 'src/core/ids.ts'), 'export const first = 1;\n');
  await writeFile(stateFile(clone), sourceState(clone));
}

const changes: Record<string, () => Promise<void>> = {
  'is edited': () => writeFile(path.join(clone, 'src/core/ids.ts'), 'export const first = 12;\n'),
  'is edited to the same length': () => utimes(path.join(clone, 'src/core/ids.ts'), 1, 1),
  'is added': () => writeFile(path.join(clone, 'src/core/names.ts'), ''),
  'is removed': () => rm(path.join(clone, 'src/core/ids.ts')),
};

test.for(Object.keys(changes))('a program is not run as it was built when a source %s', async change => {
  await buildClone();
  expect(isBuilt(clone)).toBe(true);
  await changes[change]!();
  expect(isBuilt(clone)).toBe(false);
});

test('packing fails where the packages that build the program are not installed', async () => {
  const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const empty = await mkdtemp(path.join(tmpdir(), 'belfry-pack-'));
  await cp(path.join(root, 'scripts'), path.join(empty, 'scripts'), { recursive: true });
  const packed = promisify(execFile)('sh', ['-c', scripts.prepack], { cwd: empty });
  await expect(packed).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('run npm ci first') });
  await rm(empty, { recursive: true });
});

test('an installed program has no sources, and runs as it was built', async () => {
  await buildClone();
  await rm(path.join(clone, 'src'), { recursive: true });
  expect(isBuilt(clone)).toBe(true);
});

/** Returns what a file imports by `import`, `import()` with a fixed name, or `require` in bundled CommonJS. */
async function importsOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8');
  const { staticImports, staticExports, dynamicImports } = parseSync(file, text).module;
  const exported = staticExports.flatMap(({ entries }) => entries.map(({ moduleRequest }) => moduleRequest?.value));
  const dynamic = dynamicImports.map(
    ({ moduleRequest: { start, end } }) => /^["'](.*)["']$/.exec(text.slice(start, end))?.[1],
  );
  const required = [...text.matchAll(/\b__require\(["'`]([^"'`]+)["'`]\)/g)].map(([, name]) => name);
  const imported = staticImports.filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType));
  const all = [...imported.map(({ moduleRequest }) => moduleRequest.value), ...exported, ...dynamic, ...required];
  return all.filter(name => name !== undefined);
}

/** Returns the package of an import, or undefined for a file or a module of Node.js. */
function packageOf(name: string): string | undefined {
  if (/^[./#]/.test(name) || isBuiltin(name)) return undefined;
  return /^(@[^/]+\/)?[^/]+/.exec(name)![0];
}

/** Returns the files of the built program with what each imports; chunks of earlier builds may still be there. */
async function readBuilt(): Promise<Map<string, string[]>> {
  const entries = [
    'main.js',
    'engine/run.js',
    'pipeline/rendering/rendering-thread.js',
    'providers/feedback/mail-thread.js',
  ];
  const pending = entries.map(entry => path.join(root, 'dist', entry));
  const files = new Map<string, string[]>();
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (files.has(file)) continue;
    const imports = await importsOf(file);
    files.set(file, imports);
    const folder = path.dirname(file);
    pending.push(...imports.filter(name => name.startsWith('.')).map(name => path.resolve(folder, name)));
  }
  return files;
}

test('the package depends on what the built program imports, and on nothing else', async () => {
  const imported = new Set([...built.values()].flat().map(packageOf));
  const packed = JSON.parse(toPackedManifest(await readFile(path.join(root, 'package.json'), 'utf8')));
  // Used by pg only if an application asks for it.
  imported.delete('pg-native');
  imported.delete(undefined);
  expect([...imported].sort()).toEqual(Object.keys(packed.dependencies).sort());
});

interface Bill {
  components: { name: string; version: string }[];
}

/** Reads both lists of a folder with bundles; returns the names and checks that the texts are complete. */
async function bundledPackages(folder: string): Promise<Set<string>> {
  const read = (file: string) => readFile(path.join(root, folder, file), 'utf8');
  const { components } = JSON.parse(await read('bundled.cdx.json')) as Bill;
  const [, ...notices] = (await read('THIRD_PARTY_NOTICES.txt')).split(/\n-{99}\n\n/);
  expect(notices.map(text => text.split(' (')[0])).toEqual(components.map(({ name, version }) => `${name} ${version}`));
  for (const text of notices)
    expect(text).toMatch(/Permission|Redistribution|Apache License|Mozilla\s+Public|public domain/i);
  return new Set(components.map(({ name }) => name));
}

test('the notices of the program name every library in it, with its license', async () => {
  const bundled = [...(await bundledPackages('dist'))].map(name => name.replace('/', '-'));
  const lock = JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8'));
  const installed = Object.keys(lock.packages).map(key => key.replace(/.*node_modules\//, '').replace('/', '-'));
  const libraries: string[] = [];
  for (const file of built.keys()) {
    // Each library is a chunk with its name and a hash. Our own code keeps its comments.
    const name = path.basename(file).replace(/-[\w-]{8}\.js$/, '');
    const isOurs = (await readFile(file, 'utf8')).includes('//#region src/');
    if (installed.includes(name) && !isOurs) libraries.push(name);
  }
  expect(libraries.length).toBeGreaterThan(50);
  expect(libraries.filter(name => !bundled.includes(name))).toEqual([]);
});

test('the notices of the console and the inbox name every library that they import, with its license', async () => {
  await buildConsole();
  const bundled = await bundledPackages('console/dist');
  const sources = ['console/src', 'sdk/inbox/src'].map(folder => path.join(root, folder));
  const files = (await Promise.all(sources.map(folder => readdir(folder, { recursive: true, withFileTypes: true }))))
    .flat()
    .filter(({ name }) => /\.tsx?$/.test(name))
    .map(({ parentPath, name }) => path.join(parentPath, name));
  const imported = new Set((await Promise.all(files.map(importsOf))).flat().map(packageOf));
  imported.delete(undefined);
  expect([...imported].filter(name => !bundled.has(name!))).toEqual([]);
});

test('every schema is valid by the JSON Schema meta-schema, which is not checked at run time', () => {
  const ajv = new Ajv2020({ strict: false });
  const ofRoutes = routes.flatMap(route => [
    route.body,
    route.query,
    route.headers,
    'list' in route ? route.item : route.answer,
  ]);
  const ofProviders = Object.values(providers).map(provider => provider.settings);
  const schemas = [...ofRoutes, ...ofProviders, OrganizationDocument].filter(schema => schema !== undefined);
  expect(schemas.length).toBeGreaterThan(100);
  for (const schema of schemas) {
    expect([ajv.validateSchema(schema as object), ajv.errorsText()]).toEqual([true, 'No errors']);
  }
});

test('the package needs Node.js 24, and builds nothing when it is installed', async () => {
  const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const packed = JSON.parse(toPackedManifest(JSON.stringify(manifest)));
  const { prepare, ...scripts } = manifest.scripts;
  expect(prepare).toBeDefined();
  const { pino, 'pino-pretty': pretty } = manifest.dependencies;
  const dependencies = { pino, 'pino-pretty': pretty };
  expect(packed).toEqual({ ...manifest, scripts, dependencies, engines: { node: '>=24' } });
});
