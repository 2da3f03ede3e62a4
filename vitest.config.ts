import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';

/** `npm run test:fast`: the tests that need no database, service or browser. */
const needsService =
  /support\/(accounts|api|browser|database|demo-console|embedded|process|sink|sql|tenants)\.ts'|\/embedded\.ts'/;

function listFast(): string[] {
  const files = readdirSync('test').filter(name => name.endsWith('.test.ts'));
  return files.map(name => `test/${name}`).filter(file => !needsService.test(readFileSync(file, 'utf8')));
}

/** Threads run the program as it is built, of the same sources: they take half of the time. */
const builtThreads = {
  name: 'built-threads',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    if (!id.startsWith(path.resolve('src'))) return null;
    return code.replace(/new URL\('([^']+(?:engine\/run|rendering-thread))\.ts', import\.meta\.url\)/, (_, name) => {
      const file = path.relative('src', path.resolve(path.dirname(id), `${name}.js`));
      return `new URL('${pathToFileURL(path.resolve('dist', file))}')`;
    });
  },
};

export default defineConfig(({ mode }) => ({
  plugins: mode === 'fast' ? [] : [builtThreads],
  test: {
    ...(mode === 'fast'
      ? { include: listFast() }
      : { include: ['test/**/*.test.ts'], globalSetup: 'test/support/cluster.ts' }),
    // Files share the modules of their process: to load them anew for each took two fifths of the time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
}));
