/** What stands in the place of libraries and of their checks at run time: bundles, and schemas that nobody checks again. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { OrganizationDocument } from '../src/core/configuration/document.ts';
import { routes } from '../src/http/routes.ts';
import { findBundles, folder } from '../src/libraries.ts';
import { providers } from '../src/providers/index.ts';
import { root } from './support/process.ts';

const run = promisify(execFile);
const bundle = () => run(process.execPath, [path.join(root, 'scripts/libraries.ts')], { cwd: root });

/** In a plain Node: a test runner imports CommonJS in its own way. */
async function namesOf(modules: string[]): Promise<string[][]> {
  const program = `const all = await Promise.all(process.argv.slice(1).map(name => import(name)));
    console.log(JSON.stringify(all.map(each => Object.keys(each))));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program, ...modules], { cwd: root });
  return (JSON.parse(stdout) as string[][]).map(names => names.filter(name => /^[\w$]+$/.test(name)));
}

test('every library has a bundle that exports the same names', { timeout: 120_000 }, async () => {
  await bundle();
  const bundles = findBundles()!;
  expect([...bundles.keys()]).toEqual(expect.arrayContaining(['fastify', 'kysely', 'pg', 'typebox', 'undici']));
  const [bundled, original] = [await namesOf([...bundles.values()]), await namesOf([...bundles.keys()])];
  for (const [i, name] of [...bundles.keys()].entries()) {
    expect([name, bundled[i]]).toEqual([name, expect.arrayContaining(original[i]!)]);
  }
});

test('bundles of other packages than those that are installed are not used', { timeout: 120_000 }, async () => {
  await bundle();
  const file = `${folder}/manifest.json`;
  const text = readFileSync(file, 'utf8');
  try {
    writeFileSync(file, JSON.stringify({ ...JSON.parse(text), packages: 'others' }));
    expect(findBundles()).toBeUndefined();
  } finally {
    writeFileSync(file, text);
  }
  expect(findBundles()).toBeDefined();
});

test('every schema is one by the schema of schemas, which is not asked at run time', () => {
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
