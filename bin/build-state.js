// @ts-check
/**
 * Whether dist/ is made of what lies in a clone now: by the sizes and times of the files that go into it, which takes some
 * milliseconds. An installed package has no sources, and nothing to compare.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const inputs = ['src', 'scripts/build.ts', 'node_modules/.package-lock.json'];

/**
 * @param {string} root
 * @returns {string} the file that says what dist/ is made of
 */
export function stateFile(root) {
  return path.join(root, 'dist/build.txt');
}

/**
 * @param {string} root
 * @returns {string} of everything that dist/ is made of
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
  const place = path.join(root, name);
  const stat = statSync(place, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return `${name} ${stat?.size} ${stat?.mtimeMs}\n`;
  return readdirSync(place)
    .sort()
    .map(each => describe(root, `${name}/${each}`))
    .join('');
}
