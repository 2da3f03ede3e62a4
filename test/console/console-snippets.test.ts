/** The code samples of the console work with any context. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulateCommand, triggerSnippets } from '../../console/src/snippets/snippets.ts';
import type { Service } from '../../src/app.ts';
import { createDemo, type Demo, triggerDemo } from '../../src/services/operations/demo/demo.ts';
import { asker } from '../support/api.ts';
import { testService } from '../support/database.ts';

const run = promisify(execFile);
let service: Service;
let demo: Demo;
let folder: string;

beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  demo = (await createDemo(service.runtime.deps))!;
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-snippets-'));
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

test('the button of the inbox demo triggers its event for one inbox only', async () => {
  const id = await triggerDemo(service.runtime.deps);
  const { body } = await asker(service.address, demo.key)({ path: `/api/o/demo/occurrence/${id}/` });
  expect(body.options).toEqual({ channels: ['app'], limit_to: ['ada@demo.test'] });
});

test('the sample for the command line names recipients where the event needs them', () => {
  const body = { context: { name: "O'Brien" }, options: { recipients: ['ada@demo.test'] } };
  const context = `belfry simulate demo/shop/web/go \\\n  --context '{"name":"O'\\''Brien"}'`;
  expect(simulateCommand('demo/shop/web/go', body)).toBe(
    `${context} \\\n  --options '{"recipients":["ada@demo.test"]}'`,
  );
  expect(simulateCommand('demo/shop/web/go', { context: body.context })).toBe(context);
});

/** How to run each language, if it is installed. */
const programs: Record<string, { file: string; command: string; args: string[] }> = {
  curl: { file: 'a.sh', command: 'sh', args: [] },
  TypeScript: { file: 'a.mts', command: process.execPath, args: [] },
  Python: { file: 'a.py', command: 'python3', args: [] },
  PHP: { file: 'a.php', command: 'php', args: [] },
  Go: { file: 'a.go', command: 'go', args: ['run'] },
};
const context = {
  name: `O'Brien "the \\ bell" $HOME \`x\``,
  city: 'Köln 🔔',
  amount: 12.5,
  paid: true,
  nothing: null,
  items: [{ n: 1 }, []],
  empty: {},
};

const { Go, ...quick } = programs;
const title = 'the %s sample triggers the event with the exact context';
test.each(Object.keys(quick))(title, runSample);
// Go compiles its whole library first.
test.each(Object.keys({ Go }))(title, { tags: ['sweep'] }, runSample);

async function runSample(language: string): Promise<void> {
  const call = {
    url: service.address + demo.triggerPath,
    apiKey: demo.key,
    body: { context, options: { dry_run: true } },
  };
  const { code } = triggerSnippets(call).find(snippet => snippet.language === language)!;
  const { file, command, args } = programs[language]!;
  const isInstalled = await run('sh', ['-c', `command -v ${command === 'sh' ? 'curl' : command}`]).then(
    () => true,
    () => false,
  );
  if (!isInstalled) return expect(code).toContain(call.url);
  await writeFile(path.join(folder, file), code);
  const { stdout } = await run(command, [...args, path.join(folder, file)]);
  const identifier = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(stdout)![0];
  const { body } = await asker(service.address, demo.key)({ path: `/api/o/demo/occurrence/${identifier}/` });
  expect(body.context).toEqual(context);
  expect(body.options).toEqual({ dry_run: true });
}
