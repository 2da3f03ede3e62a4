/**
 * Finds a Chromium for the browser tests and installs nothing on the system. The pinned one comes with `npm ci`, as the
 * development dependency @sparticuz/chromium, and brings its libraries and fonts.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

export interface Chromium {
  executablePath: string;
  env?: Record<string, string>;
}

const installed = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const { resolve } = createRequire(import.meta.url);
const fontSettings = 'fonts.conf';
const cache = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));

/** Returns the first that starts: CHROMIUM, the pinned browser, or one of the system; undefined if there is none. */
export async function findChromium(): Promise<Chromium | undefined> {
  const { CHROMIUM } = process.env;
  if (CHROMIUM) return { executablePath: CHROMIUM };
  for (const candidate of [await unpackPinned(), ...installed.map(executablePath => ({ executablePath }))]) {
    if (candidate && (await isWorking(candidate))) return candidate;
  }
  return undefined;
}

async function isWorking({ executablePath, env }: Chromium): Promise<boolean> {
  if (!existsSync(executablePath)) return false;
  const run = promisify(execFile)(executablePath, ['--version'], { env: { ...process.env, ...env } });
  return run.then(
    () => true,
    () => false,
  );
}

/** The package has the binary for Linux on x64 only. */
function hasPinned(): boolean {
  if (process.platform !== 'linux' || process.arch !== 'x64') return false;
  try {
    return existsSync(resolve('@sparticuz/chromium'));
  } catch {
    return false;
  }
}

/** Unpacks the browser below node_modules/.cache, once; the rename keeps processes that start together apart. */
async function unpackPinned(): Promise<Chromium | undefined> {
  if (!hasPinned()) return undefined;
  const entry = resolve('@sparticuz/chromium');
  const { version } = createRequire(entry)('../package.json') as { version: string };
  const folder = path.join(cache, `chromium-${version}`);
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true });
    const fresh = await mkdtemp(`${folder}-`);
    const script = `const { default: chromium } = await import('${pathToFileURL(entry)}'); await chromium.executablePath()`;
    // The package unpacks into the temporary folder, and its libraries only where it believes to be on Lambda.
    const env = { TMPDIR: fresh, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' };
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { env });
    // Its own file looks for the fonts in folders of Lambda. Without fonts, a form does not even take what is typed.
    await writeFile(path.join(fresh, fontSettings), '<fontconfig><dir prefix="relative">fonts</dir></fontconfig>\n');
    await rename(fresh, folder).catch(() => rm(fresh, { recursive: true }));
  }
  const libraries = path.join(folder, 'al2023/lib');
  const env = { LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: path.join(folder, fontSettings) };
  return { executablePath: path.join(folder, 'chromium'), env };
}
