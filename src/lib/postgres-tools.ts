/** Runs PostgreSQL's programs `pg_dump` and `pg_restore` from PATH. */

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export type PostgresTool = 'pg_dump' | 'pg_restore';

interface ToolResult {
  /** Null if the program is not installed. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Passes the database's password in the environment, as every user of the machine can read arguments. */
export async function runTool(tool: PostgresTool, args: string[], databaseUrl?: string): Promise<ToolResult> {
  const { PGPASSWORD: _, ...env } = process.env;
  const allArgs = [...args];
  if (databaseUrl !== undefined) {
    // Not parsed as a URL: it may name several servers.
    const password = /^\w+:\/\/[^:/?#]*:([^/?#]*)@/.exec(databaseUrl)?.[1];
    if (password) env.PGPASSWORD = decodeURIComponent(password);
    allArgs.push(`--dbname=${password ? databaseUrl.replace(`:${password}@`, '@') : databaseUrl}`);
  }
  const child = spawn(tool, allArgs, { env: { ...env, LC_ALL: 'C' }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? resolve(null) : reject(error)));
    child.on('close', code => resolve(code ?? 1));
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** Returns the major version of the program, or undefined if it is not installed. */
export async function toolVersion(tool: PostgresTool): Promise<number | undefined> {
  const { code, stdout } = await runTool(tool, ['--version']);
  return code === 0 ? Number(/ (\d+)/.exec(stdout)?.[1]) : undefined;
}
