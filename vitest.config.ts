import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import type { VitestPluginContext } from 'vitest/node';
import { findChromium } from './test/support/chromium.ts';

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

/** Does not even load the files in which the filter of `npm test` or `npm run test:sweep` selects nothing. */
const selectedFiles = {
  name: 'selected-files',
  configureVitest({ project }: VitestPluginContext) {
    const { tagsFilter: [filter] = [], exclude } = project.config;
    for (const file of globSync('test/**/*.test.ts')) {
      const text = readFileSync(file, 'utf8');
      const isSweep = text.includes('@module-tag sweep');
      if (filter === 'sweep' ? !isSweep && !text.includes("'sweep'") : filter === '!sweep' && isSweep)
        exclude.push(file);
    }
  },
};

const chromium = await findChromium();
if (!chromium) {
  const notice = 'No Chromium found: the browser tests are skipped. Set CHROMIUM to the path of one.';
  if (process.env.CI) throw new Error(notice);
  process.stderr.write(`${notice}\n`);
}

export default defineConfig({
  plugins: [builtThreads, selectedFiles],
  test: {
    include: ['test/**/*.test.ts'],
    runner: 'test/support/runner.ts',
    globalSetup: 'test/support/cluster.ts',
    setupFiles: ['test/support/cheap-passwords.ts', 'test/support/fixed-seed.ts', 'test/support/slow-connections.ts'],
    tags: [
      { name: 'browser', description: 'Needs Chromium.', skip: !chromium },
      {
        name: 'sweep',
        description: 'Exhaustive or long: left out of npm test, part of npm run test:all.',
        timeout: 240_000,
      },
    ],
    // Files share the modules of their process: to load them anew for each took two fifths of the time.
    isolate: false,
    // Several times what the slowest take on a busy machine: only what hangs reaches them.
    testTimeout: 60_000,
    // Also before and after tests of the sweep.
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});
