#!/usr/bin/env -S node --max-semi-space-size=32 --heap-growing-percent=30
/**
 * Entry point of the `belfry` command. Belfry runs on Node.js 24. If the installed Node.js is older, the one among the
 * packages of a clone is used, or else the tested version is downloaded from npm once and cached for this user. This file must therefore
 * run on Node.js 20.
 *
 * The program is dist/main.js, or src/main.ts in a clone that has changed since the last build. src/main.ts explains the
 * flags above.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt } from './build-state.js';

const minMajor = 24;
const root = fileURLToPath(new URL('../', import.meta.url));
const program = path.join(root, isBuilt(root) ? 'dist/main.js' : 'src/main.ts');

if (process.env.npm_lifecycle_event === 'npx') stopWithParent();
if (Number(process.versions.node.split('.')[0]) >= minMajor) await import(program);
else runOn(findNode() ?? downloadNode());

/** `npx` passes a signal on to its shell only, which exits and would leave this process and its database running. */
function stopWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 1_000);
  timer.unref();
}

/** @returns {string | undefined} the Node.js that a clone has among its packages, or that was downloaded before */
function findNode() {
  return [path.join(root, 'node_modules/node'), cacheDir()]
    .map(folder => path.join(folder, 'bin/node'))
    .find(file => existsSync(file));
}

function cacheDir() {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), `belfry/node-${testedVersion()}`);
}

/** @returns {string} the version that Belfry is tested on */
function testedVersion() {
  return JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).devDependencies.node;
}

/** @returns {string} path of the downloaded Node.js */
function downloadNode() {
  const version = testedVersion();
  console.error(`Belfry needs Node.js ${minMajor} or later; this is ${process.version}.`);
  console.error(`Downloading Node.js ${version} from npm, once, to ${cacheDir()}`);
  try {
    mkdirSync(path.dirname(cacheDir()), { recursive: true });
    // Downloads to a temporary folder first, because other processes may start at the same time.
    const fresh = mkdtempSync(`${cacheDir()}-`);
    try {
      const name = `${process.platform === 'darwin' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`;
      const args = ['install', '--prefix', fresh, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
      const { status, stderr, error } = spawnSync('npm', [...args, `${name}@${version}`], { encoding: 'utf8' });
      if (status !== 0) throw error ?? new Error(stderr.trim().split('\n')[0]);
      if (!existsSync(cacheDir())) renameSync(path.join(fresh, 'node_modules', name), cacheDir());
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
    return /** @type {string} */ (findNode());
  } catch (error) {
    console.error(
      `The download failed (${/** @type {Error} */ (error).message}). Install Node.js ${minMajor}: https://nodejs.org`,
    );
    process.exit(1);
  }
}

/** @param {string} node */
function runOn(node) {
  const child = spawn(node, [...process.execArgv, program, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal signals the whole process group; a supervisor only this process.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal ? 128 : 1);
  });
}
