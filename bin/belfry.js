#!/usr/bin/env -S node --max-semi-space-size=32 --heap-growing-percent=30
/**
 * Where the command `belfry` begins. Belfry runs on Node.js 24. Where the Node.js at hand is older, the same from npm
 * takes its place: fetched once, kept for this user. So this file has to be understood by Node.js 20.
 *
 * The program is dist/main.js, and src/main.ts in a clone that has changed since that was built. The flags above are
 * explained in src/main.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt } from './build-state.js';

const oldestMajor = 24;
const root = fileURLToPath(new URL('../', import.meta.url));
const program = path.join(root, isBuilt(root) ? 'dist/main.js' : 'src/main.ts');

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) await import(program);
else runOn(findNode() ?? fetchNode());

/** @returns {string | undefined} the Node.js that was fetched before */
function findNode() {
  const file = path.join(home(), 'bin/node');
  return existsSync(file) ? file : undefined;
}

function home() {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), `belfry/node-${wantedVersion()}`);
}

/** @returns {string} the one that Belfry is tested on */
function wantedVersion() {
  return JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).devDependencies.node;
}

/** @returns {string} where it is now */
function fetchNode() {
  const version = wantedVersion();
  console.error(`Belfry runs on Node.js ${oldestMajor} or later, and this is ${process.version}.`);
  console.error(`Fetching Node.js ${version} from npm, once, into ${home()}`);
  try {
    mkdirSync(path.dirname(home()), { recursive: true });
    // Beside its place until it is whole: others may be starting at the same moment.
    const fresh = mkdtempSync(`${home()}-`);
    try {
      const name = `${process.platform === 'darwin' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;
      const args = ['install', '--prefix', fresh, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
      const { status, stderr, error } = spawnSync('npm', [...args, `${name}@${version}`], { encoding: 'utf8' });
      if (status !== 0) throw error ?? new Error(stderr.trim().split('\n')[0]);
      if (!findNode()) renameSync(path.join(fresh, 'node_modules', name), home());
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
    return /** @type {string} */ (findNode());
  } catch (error) {
    console.error(
      `That failed (${/** @type {Error} */ (error).message}). Install Node.js ${oldestMajor}: https://nodejs.org`,
    );
    process.exit(1);
  }
}

/** @param {string} node */
function runOn(node) {
  const child = spawn(node, [...process.execArgv, program, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal tells the whole group; a supervisor tells this process alone.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal ? 128 : 1);
  });
}
