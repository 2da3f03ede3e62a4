/** Sets up the organizations of a scenario, with the functions of this version or the CLI of another one. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { openRuntime } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { applyConfiguration } from '../src/services/configuration/declarative/declarative.ts';
import { createKey } from '../src/services/identity/keys.ts';
import { belfry } from '../test/support/process.ts';

export const secretKey = 'a secret of at least 32 characters';

/** Configures the organizations and returns their API keys. */
export async function configure(
  url: string,
  document: object,
  organizations: readonly string[],
): Promise<Map<string, string>> {
  const config = loadConfig({ DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), true);
  await applyConfiguration(runtime.deps, document, { prune: false });
  const keys = new Map<string, string>();
  for (const organization of organizations) {
    const { key } = await createKey(runtime.deps, organization, { name: 'chaos', permissions: ['*'] });
    keys.set(organization, key);
  }
  await runtime.close();
  return keys;
}

/** Does the same for one organization with the CLI of another version, which creates its own schema. */
export async function configureBy(program: string, url: string, document: object): Promise<Map<string, string>> {
  const file = path.join(program, 'chaos.json');
  await writeFile(file, JSON.stringify(document));
  await runCommand(program, ['apply', file], url);
  const args = ['key', 'create', '--org', 'chaos', '--name', 'chaos', '--permission', '*'];
  return new Map([['chaos', (await runCommand(program, args, url)).trim()]]);
}

export async function runCommand(program: string, args: string[], url: string): Promise<string> {
  const env = { DATABASE_URL: url, BELFRY_SECRET_KEY: secretKey };
  const { code, stdout, stderr } = await belfry(args, env, '', program);
  if (code !== 0) throw new Error(`belfry ${args.join(' ')} exited with ${code}: ${stderr}`);
  return stdout;
}
