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
import { toPackedManifest } from '../../scripts/pack-manifest.ts';
import { OrganizationDocument } from '../../src/core/configuration/document.ts';
import { routes } from '../../src/http/routes.ts';
import { providers } from '../../src/providers/index.ts';
import { root } from '../support/process.ts';

let clone: string;

beforeAll(async () => {
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

test('the built program bundles its libraries, except those that load their own files', async () => {
  const imported = new Set<string>();
  const folder = path.join(root, 'dist/chunks');
  for (const name of await readdir(folder)) {
    const text = await readFile(path.join(folder, name), 'utf8');
    const { staticImports, dynamicImports } = parseSync(name, text).module;
    for (const { moduleRequest } of staticImports) imported.add(moduleRequest.value);
    for (const { moduleRequest } of dynamicImports) {
      const [, literal] = /^["'](.*)["']$/.exec(text.slice(moduleRequest.start, moduleRequest.end)) ?? [];
      if (literal) imported.add(literal);
    }
  }
  const packages = [...imported].filter(name => !name.startsWith('.') && !isBuiltin(name));
  expect(packages.sort()).toEqual(['pino', 'pino-pretty']);
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
  expect(packed).toEqual({ ...manifest, scripts, engines: { node: '>=24' } });
});
