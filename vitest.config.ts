import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** `npm run test:fast`: the tests that need no database, service or browser. */
const needsService =
  /support\/(accounts|api|browser|database|demo-console|embedded|process|sink|sql|tenants)\.ts'|\/embedded\.ts'/;

function listFast(): string[] {
  const files = readdirSync('test').filter(name => name.endsWith('.test.ts'));
  return files.map(name => `test/${name}`).filter(file => !needsService.test(readFileSync(file, 'utf8')));
}

export default defineConfig(({ mode }) => ({
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
