/** Checks the rules of the architecture in the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parametersOf } from '../../src/http/resolve.ts';
import { routes } from '../../src/http/routes.ts';
import { sources as files, layerOf, src, textOf } from '../support/sources.ts';

/** Returns the files of src/ that a file imports, as values or types, statically or dynamically. */
function importsOf(file: string): string[] {
  const form = /\b(?:import|export)\b[^'";]*?\bfrom\s*'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g;
  const names = [...textOf(file).matchAll(form)].map(([, from, bare]) => from ?? bare!);
  return names.filter(name => name.startsWith('.')).map(name => path.join(path.dirname(file), name));
}

/** The subfolders that http/, services/ and db/ share. */
const rooms = ['identity', 'configuration', 'audience', 'history', 'operations'];

/** The provider interface, without any provider. */
const providerInterface = ['providers/provider.ts', 'providers/sending.ts', 'providers/user-groups.ts'];

/** The layers or files that each layer may import besides itself. */
const mayImport: Record<string, string[] | 'anything'> = {
  'main.ts': ['run.ts'],
  'run.ts': 'anything',
  'app.ts': 'anything',
  'serve.ts': 'anything',
  'config.ts': ['core', 'lib'],
  'version.ts': [],
  http: ['services', 'db', 'core', 'lib', 'version.ts'],
  cli: ['services', 'db', 'core', 'lib', 'config.ts', 'version.ts'],
  engine: ['services', 'pipeline', 'db', 'core', 'lib', 'providers'],
  services: ['pipeline', 'db', 'core', 'lib', ...providerInterface],
  pipeline: ['db', 'core', 'lib', ...providerInterface],
  db: ['core', 'lib'],
  embedded: ['core', 'lib'],
  providers: ['core', 'lib'],
  core: [],
  lib: [],
};

const instead: Record<string, string> = {
  db: 'ask a function of services/ for it, or add one there',
  'config.ts': 'let app.ts read the setting and pass the value on',
  'app.ts': 'take what you need as a parameter: app.ts does the wiring and imports you',
  'main.ts': 'take what you need as a parameter: nothing imports main.ts',
  'run.ts': 'take what you need as a parameter: only main.ts imports run.ts',
  http: 'move what both need down into services/ or core/',
  cli: 'move what both need down into services/ or core/',
  engine: 'move what both need down into services/ or core/',
  services: 'move the rule into core/, or let the caller pass in what is needed',
  pipeline: 'ask a function of services/ for it; the pipeline decides and renders for the engine and for services',
  providers: 'use the interface in providers/provider.ts; app.ts puts the providers into Deps',
  lib: 'pass in what is needed: core/ and lib/ stand alone',
  core: 'pass in what is needed: lib/ knows nothing of the domain',
};

describe('imports', () => {
  test('every layer of src/ has a rule', () => {
    expect([...new Set(files.map(layerOf))].filter(layer => !(layer in mayImport))).toEqual([]);
  });

  test.each([
    ['http', [...rooms, 'server', 'pages'], ['routes.ts', 'resolve.ts']],
    ['services', rooms, ['deps.ts']],
    ['db', [...rooms, 'ledger', 'connection'], []],
  ])('%s/ has exactly the expected subfolders', (layer, expected, onTop) => {
    const inside = files.filter(file => layerOf(file) === layer).map(file => file.split('/')[1]!);
    expect([...new Set(inside)].sort()).toEqual([...expected, ...onTop].sort());
  });

  test('a folder has at most 16 files, except commands and providers', () => {
    const counts = Map.groupBy(
      readdirSync(src, { recursive: true, withFileTypes: true }).filter(one => one.isFile()),
      one => path.relative(src, one.parentPath),
    );
    const full = [...counts].filter(([folder, { length }]) => length > 16 && !/^(cli$|providers\/)/.test(folder));
    expect(
      full.map(([folder, { length }]) => `${folder} has ${length}: give those that belong together a folder`),
    ).toEqual([]);
  });

  test('the parser finds every import', () => {
    const missing = files.flatMap(file => importsOf(file).filter(name => !existsSync(path.join(src, name))));
    expect(missing.filter(name => !name.startsWith('..'))).toEqual([]);
    expect(files.flatMap(importsOf).length).toBeGreaterThan(200);
  });

  const limited = files.filter(file => mayImport[layerOf(file)] !== 'anything');
  test.each(limited)('%s imports only what its layer allows', file => {
    const layer = layerOf(file);
    const allowed = mayImport[layer] ?? [];
    const broken = importsOf(file)
      .filter(name => layerOf(name) !== layer && !allowed.includes(layerOf(name)) && !allowed.includes(name))
      .map(
        name => `${file} imports ${name}, which ${layer} may not: ${instead[layerOf(name)] ?? 'pass it in instead'}`,
      );
    expect(broken).toEqual([]);
  });

  test('there are no import cycles, not even for types', () => {
    const circles = new Set<string>();
    const done = new Set<string>();
    const visit = (file: string, trail: string[]) => {
      const at = trail.indexOf(file);
      if (at >= 0) {
        const circle = trail.slice(at);
        const first = circle.indexOf([...circle].sort()[0]!);
        circles.add([...circle.slice(first), ...circle.slice(0, first)].join(' → '));
      }
      if (done.has(file) || at >= 0) return;
      for (const name of importsOf(file)) visit(name, [...trail, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    const advice = 'move what both need, often a type, into a file of its own that imports neither';
    expect([...circles].map(circle => `${circle} → …: ${advice}`)).toEqual([]);
  });

  test('only db/ and embedded/ use SQL: others import at most the types of pg and kysely', () => {
    const speakers = files.filter(
      file =>
        !['db', 'embedded'].includes(layerOf(file)) &&
        /^import (?!type\b)[^;]*from '(pg|kysely)(\/[^']*)?';/m.test(textOf(file)),
    );
    expect(speakers.map(file => `${file}: move the statement into a function of db/`)).toEqual([]);
  });

  test('core does no input or output and reads no clock', () => {
    const pure = /^node:(crypto|zlib|util|buffer)$/;
    const outside = files
      .filter(file => layerOf(file) === 'core')
      .flatMap(file => {
        const modules = [...textOf(file).matchAll(/from '(node:[^']+)'/g)].map(([, name]) => name!);
        const clock = /\bDate\.now\(\)|\bnew Date\(\)|\bperformance\.now\(/.test(textOf(file)) ? ['the clock'] : [];
        return [...modules.filter(name => !pure.test(name)), ...clock].map(
          name => `${file}: take ${name} from the caller`,
        );
      });
    expect(outside).toEqual([]);
  });
});

describe('the table of routes', () => {
  test('has every endpoint of http/, under its exported name', async () => {
    const listed = new Set(routes.map(route => route.id));
    const wrong: string[] = [];
    for (const file of files.filter(name => layerOf(name) === 'http' && name !== 'http/routes.ts')) {
      if (!/\b(plain|list|history|ordered)\(/.test(textOf(file))) continue;
      const exported = (await import(path.join(src, file))) as Record<string, unknown>;
      for (const [name, value] of Object.entries(exported).filter(([, one]) => isEndpoint(one))) {
        const { id } = value as { id: string };
        if (id !== name) wrong.push(`${file}: ${name} has the id ${id}: export an endpoint under its id`);
        if (!listed.has(id)) wrong.push(`${file}: ${id} is in no line of http/routes.ts: add one, with its permission`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is the only file that adds API routes', () => {
    const paths = files.filter(
      file => layerOf(file) === 'http' && file !== 'http/routes.ts' && /['"`]\/api\/[^'"`]*:\w+/.test(textOf(file)),
    );
    expect(paths.map(file => `${file} writes a path of the API: put the route into http/routes.ts`)).toEqual([]);
  });

  test('has all parameters of each endpoint in its path', () => {
    const wrong = routes.flatMap(({ id, path: at, params }) =>
      params.filter(name => !parametersOf(at).includes(name)).map(name => `${id} needs :${name}, which ${at} lacks`),
    );
    expect(wrong).toEqual([]);
  });

  function isEndpoint(value: unknown): boolean {
    return typeof value === 'object' && value !== null && 'params' in value && 'summary' in value;
  }
});

describe('the documents', () => {
  test.each(['CONTRIBUTING.md', 'docs/architecture.md'])('%s mentions only existing files', name => {
    const root = path.join(src, '..');
    const text = readFileSync(path.join(root, name), 'utf8');
    const named = [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.tsx?|[\w-]+\/)`/g)].map(([, file]) => file!);
    const missing = named.filter(file => ![root, src].some(folder => existsSync(path.join(folder, file))));
    expect(missing.map(file => `${file}: name the file that took its place`)).toEqual([]);
    expect(named.length).toBeGreaterThan(10);
  });
});

describe('layers', () => {
  test('a service does more than re-export a query', () => {
    const evading = files
      .filter(file => layerOf(file) === 'services')
      .flatMap(file => {
        const passed = [...textOf(file).matchAll(/^export (?!type\b)(\*|\{[^}]*\}) from '\.\.\/db\/[^']+';/gm)]
          .map(([, names]) => names!)
          .filter(
            names =>
              names === '*' ||
              names
                .replace(/[{}]/g, '')
                .split(',')
                .some(name => name.trim() && !/^\s*type /.test(name)),
          );
        const aliases = [...textOf(file).matchAll(/^export const \w+ = [a-z]\w*(?:\.\w+)?;/gm)].map(([text]) => text);
        return [...passed, ...aliases].map(
          name =>
            `${file} re-exports ${name.replaceAll(/\s+/g, ' ')}: write a function of the use case that takes Deps`,
        );
      });
    expect(evading).toEqual([]);
  });

  test('http and cli import only types and plain reads of one tenant from db: services do everything else', () => {
    const wrong = files
      .filter(file => ['http', 'cli'].includes(layerOf(file)))
      .flatMap(file =>
        [...textOf(file).matchAll(/^import (?!type\b)(\{[^}]*\}|\* as \w+) from '((?:\.\.?\/)+db\/[^']+)';/gm)].flatMap(
          ([, names, from]) => {
            const room = path.join(path.dirname(file), from!).split('/')[1]!;
            const space = /^\* as (\w+)/.exec(names!)?.[1];
            const used = space
              ? [...textOf(file).matchAll(new RegExp(`\\b${space}\\.(\\w+)`, 'g'))].map(([, name]) => name!)
              : names!.split(/[{},]/).map(name => name.trim().replace(/ as .*/, ''));
            return used
              .filter(name => name && !name.startsWith('type '))
              .filter(name => !rooms.includes(room) || !isRead(name))
              .map(name => `${file} calls ${name} of ${from}: write a function of services/ that takes Deps`);
          },
        ),
      );
    expect(wrong).toEqual([]);
  });

  test('http and cli pass the database only to such reads', () => {
    const handing = files
      .filter(file => ['http', 'cli'].includes(layerOf(file)))
      .filter(
        file =>
          /\bdeps\.pool\b|\{[^}]*\b(db|pool)\b[^}]*\}: (Pick<)?Deps\b/.test(textOf(file)) ||
          [...textOf(file).matchAll(/(?:(\w+)\(\s*)?(?:call\.)?\bdeps\.db\b/g)].some(([, name = '']) => !isRead(name)),
      );
    expect(handing.map(file => `${file}: let the service take deps, and the database from them`)).toEqual([]);
  });

  function isRead(name: string): boolean {
    return /^(find|get|list|search|summarize)[A-Z]/.test(name) && !name.endsWith('AcrossTenants');
  }
});
