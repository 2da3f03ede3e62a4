/**
 * `belfry types` generates types with which invalid triggers do not compile.
 *
 * @module-tag sweep
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { toTypeScript } from '../../src/core/context-schema/types.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { testService } from '../support/database.ts';
import { belfry, root } from '../support/process.ts';

const run = promisify(execFile);
const event = (slug: string, context_schema?: JsonObject) => ({
  slug,
  name: slug,
  ...(context_schema && { context_schema }),
});
const paid = {
  type: 'object',
  required: ['order', 'items'],
  additionalProperties: false,
  properties: {
    order: { type: 'string', description: 'Ends a comment: */ export {}' },
    state: { enum: ['new', 'old'] },
    'odd name': { type: ['number', 'null'] },
    items: { type: 'array', items: { $ref: '#/$defs/item' } },
  },
  $defs: {
    item: {
      type: 'object',
      required: ['sku'],
      properties: { sku: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
    },
  },
} satisfies JsonObject;

let service: Service;
let folder: string;
let key: string;
beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  const { deps } = service.runtime;
  const events = [
    event('order-paid', paid),
    event('pinged'),
    event('empty', { type: 'object', properties: { a: {} } }),
  ];
  const projects = [{ slug: 'shop', name: 'Shop', applications: [{ slug: 'web', name: 'Web', events }] }];
  await applyConfiguration(deps, { organizations: [{ slug: 'acme', name: 'Acme', projects }] }, { prune: false });
  key = (await createKey(deps, 'acme', { name: 'types', permissions: ['event:list'] })).key;
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-types-'));
  await run(process.execPath, [path.join(root, 'scripts/sdk-types.ts')], { cwd: root });
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the compiler's errors for a program with the generated file; empty if it compiles. */
async function compile(program: string, types?: string): Promise<string> {
  const own = await mkdtemp(path.join(folder, 'program-'));
  const client = path.join(root, 'sdk/client/src/index.ts');
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'webworker'],
    module: 'preserve',
    strict: true,
    noEmit: true,
    types: [],
    allowImportingTsExtensions: true,
    paths: { '@belfry/client': [client] },
  };
  await mkdir(own, { recursive: true });
  await writeFile(path.join(own, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
  if (types) await writeFile(path.join(own, 'belfry.d.ts'), types);
  const start =
    "import { Belfry } from '@belfry/client';\nconst belfry = new Belfry({ url: 'http://x.test', key: 'k' });\n";
  await writeFile(path.join(own, 'program.ts'), `${start}${program}\nexport {};\n`);
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  return run(process.execPath, [tsc, '-p', own]).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  );
}

describe('with the generated types', () => {
  let types: string;
  beforeAll(async () => {
    const env = { BELFRY_URL: service.address, BELFRY_KEY: key };
    const written = await belfry(['types', 'acme'], env);
    expect([written.code, written.stderr]).toEqual([0, '']);
    types = written.stdout;
    const local = { DATABASE_URL: service.runtime.url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters' };
    const file = path.join(folder, 'belfry.d.ts');
    const saved = await belfry(['types', 'acme', '--output', file], local);
    expect([saved.code, saved.stdout, saved.stderr]).toEqual([0, '', '']);
    expect(await readFile(file, 'utf8')).toBe(types);
  });

  test('a valid trigger compiles', async () => {
    const good = `
      await belfry.trigger('shop/web/order-paid', { order: 'A-1', items: [{ sku: 'a' }, { sku: 2 }], state: 'new' });
      await belfry.trigger('acme/shop/web/order-paid', { order: 'A-1', items: [], 'odd name': null }, { correlationId: 'c' });
      await belfry.trigger('shop/web/order-paid', {}, { options: { dedup_key: 'd', resolve: true } });
      await belfry.trigger('shop/web/pinged');
      await belfry.trigger('shop/web/pinged', { whatever: 1 });
      await belfry.trigger('shop/web/empty');
      await belfry.simulate('shop/web/order-paid', { order: 'A-1', items: [] });`;
    expect(await compile(good, types)).toBe('');
  });

  test.each([
    ['an event that does not exist', "await belfry.trigger('shop/web/order-piad', { order: 'A-1', items: [] });"],
    ['a field that is missing', "await belfry.trigger('shop/web/order-paid', { order: 'A-1' });"],
    ['no context at all', "await belfry.trigger('shop/web/order-paid');"],
    ['a field of the wrong type', "await belfry.trigger('shop/web/order-paid', { order: 1, items: [] });"],
    [
      'a value that is no choice',
      "await belfry.trigger('shop/web/order-paid', { order: 'A', items: [], state: 'x' });",
    ],
    ['a field that is unknown', "await belfry.trigger('shop/web/order-paid', { order: 'A', items: [], ordre: 1 });"],
    ['a mistake deep down', "await belfry.trigger('shop/web/order-paid', { order: 'A', items: [{ sku: true }] });"],
    ['one behind the organization', "await belfry.trigger('acme/shop/web/order-paid', { order: 'A-1' });"],
    ['a simulation', "await belfry.simulate('shop/web/order-paid', { order: 'A-1' });"],
  ])('%s does not compile', async (_, program) => {
    expect(await compile(program, types)).toMatch(/program\.ts\(3,/);
  });
});

test('without the generated types, any event and context compile', async () => {
  expect(
    await compile(
      "const name: string = 'a/b/c';\nawait belfry.trigger(name, { x: 1 });\nawait belfry.trigger('a/b/c');",
    ),
  ).toBe('');
});

test('the output is valid TypeScript for any schema', async () => {
  const odd: unknown = {
    type: 'object',
    required: ['not named'],
    properties: {
      'a\u2028"b': { const: 'x\u2029"' },
      tuple: { prefixItems: [{ type: 'string' }, { type: ['string', 'null'] }], minItems: 1, type: 'array' },
      closed: { type: 'array', prefixItems: [{ type: 'number' }], items: false },
      map: { type: 'object', additionalProperties: { type: 'number' } },
      both: { type: 'object', properties: { a: {} }, additionalProperties: { type: 'number' } },
      none: { type: 'object', additionalProperties: false },
      all: {
        allOf: [
          { type: 'object', properties: { a: { type: 'null' } } },
          { anyOf: [{ type: 'object', properties: { b: true } }, false] },
        ],
      },
      const: { const: { deep: [1, null, { 'k-1': false }] } },
      never: false,
      any: true,
    },
  };
  const types = toTypeScript('acme', [{ path: 'a/b/c', name: 'Several\nlines */', context_schema: odd as JsonObject }]);
  const program = `await belfry.trigger('a/b/c', {
    'not named': 1, tuple: ['a', null], closed: [1], map: { x: 1 }, both: { a: 'b', c: 1 }, none: {},
    all: { a: null, b: 2 }, const: { deep: [1, null, { 'k-1': false }] }, any: Symbol() });`;
  expect(await compile(program, types)).toBe('');
});
