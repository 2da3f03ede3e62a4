// @ts-check
/**
 * Checks whether dist/ was built from the current sources of a clone, by comparing file sizes and times, which takes a few
 * milliseconds. An installed package has no sources and nothing to compare.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const inputs = ['src', 'scripts/build.ts', 'scripts/notices.ts', 'node_modules/.package-lock.json'];

/**
 * @param {string} root
 * @returns {string} path of the file that records the source state of dist/
 */
export function stateFile(root) {
  return path.join(root, 'dist/build.txt');
}

/**
 * @param {string} root
 * @returns {string} a hash of everything that dist/ is built from
 */
export function sourceState(root) {
  const hash = createHash('sha256');
  for (const input of inputs) hash.update(describe(root, input));
  return hash.digest('hex');
}

/**
 * @param {string} root
 * @returns {boolean}
 */
export function isBuilt(root) {
  if (!existsSync(stateFile(root))) return false;
  return !existsSync(path.join(root, 'src')) || readFileSync(stateFile(root), 'utf8') === sourceState(root);
}

/**
 * @param {string} root
 * @param {string} name of a file or a folder
 * @returns {string}
 */
function describe(root, name) {
  const file = path.join(root, name);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return `${name} ${stat?.size} ${stat?.mtimeMs}\n`;
  return readdirSync(file)
    .sort()
    .map(each => describe(root, `${name}/${each}`))
    .join('');
}
