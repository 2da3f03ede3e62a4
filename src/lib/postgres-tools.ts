/** PostgreSQL's own programs, `pg_dump` and `pg_restore`, as they are found on PATH. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export type PostgresTool = 'pg_dump' | 'pg_restore';

export interface ToolResult {
  /** Null: there is no such program. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** With the database's password in the environment, since everybody on the machine can read arguments. */
export async function runTool(tool: PostgresTool, args: string[], databaseUrl?: string): Promise<ToolResult> {
  const { PGPASSWORD: _, ...env } = process.env;
  const given = [...args];
  if (databaseUrl !== undefined) {
    const url = new URL(databaseUrl);
    if (url.password) env.PGPASSWORD = decodeURIComponent(url.password);
    url.password = '';
    given.push(`--dbname=${url.href}`);
  }
  const child = spawn(tool, given, { env: { ...env, LC_ALL: 'C' }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? resolve(null) : reject(error)));
    child.on('close', code => resolve(code ?? 1));
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** The major version of the program, or undefined where there is none. */
export async function toolVersion(tool: PostgresTool): Promise<number | undefined> {
  const { code, stdout } = await runTool(tool, ['--version']);
  return code === 0 ? Number(/ (\d+)/.exec(stdout)?.[1]) : undefined;
}
