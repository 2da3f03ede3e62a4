/** An organization to import into, and a folder for the files of `belfry import`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { command } from './command.ts';
import { testService } from './database.ts';

const organization =
  'organizations: [{slug: acme, name: Acme Inc, channels: [{slug: pager, name: Pager, type: email, providers: [{use: sandbox}]}]}]';

export type ImportTarget = Awaited<ReturnType<typeof openImportTarget>>;

/** `args` are those of each `run`, such as the name of the system. */
export async function openImportTarget(token: string, ...args: string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), 'belfry-import-'));
  const service = await testService({});
  const env = {
    DATABASE_URL: service.runtime.url,
    BELFRY_SECRET_KEY: 'a secret of at least 32 characters',
    IMPORT_TOKEN: token,
  };
  const file = (name: string) => path.join(folder, name);
  await writeFile(file('before.yaml'), organization);
  const { code, stderr } = await command(['apply', file('before.yaml')], env);
  if (code !== 0) throw new Error(stderr);
  return {
    env,
    file,
    run: (...more: string[]) => command(['import', ...args, '--org', 'acme', ...more], env),
    close: async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
