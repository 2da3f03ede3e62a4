/** Runs npm and returns its standard output, whatever its exit code. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

export async function npm(args: string[], env: Record<string, string>, timeoutMs: number): Promise<string> {
  const child = spawn('npm', args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', chunk => (text += chunk));
  await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  return text;
}
