/**
 * Prints the failures in JSON test reports, and the test counts of all of them. A report of a repetition comes after the one that
 * it repeats: its result of a test counts, and a test that passed only then is called unsteady. With --failed, prints the files
 * with failures instead, one per line.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';

const isListing = process.argv[2] === '--failed';
const reports = process.argv.slice(isListing ? 3 : 2).map(file => JSON.parse(readFileSync(file, 'utf8')));
const print = text => process.stdout.write(`${text}\n`);
/** Without the middle of what a test of random input may print by the megabyte. */
const shorten = text => (text.length > 6_000 ? `${text.slice(0, 2_000)}\n[…]\n${text.slice(-4_000)}` : text);

const statuses = new Map();
const failures = new Map();
const failedFiles = new Set();
for (const { name, message, assertionResults } of reports.flatMap(({ testResults }) => testResults)) {
  const file = path.relative('.', name);
  for (const { fullName, status, failureMessages } of assertionResults) {
    const test = `${file}: ${fullName}`;
    statuses.set(test, status);
    if (status === 'failed') failures.set(test, `${test}\n${failureMessages.join('\n')}`);
  }
  const hasFailed = assertionResults.some(({ status }) => status === 'failed');
  if (hasFailed || message) failedFiles.add(file);
  // A file that could not be loaded, or a hook that failed, is no test: its result is that of its last run.
  statuses.set(file, message && !hasFailed ? 'failed' : undefined);
  if (message && !hasFailed) failures.set(file, `${file}\n${message}`);
}
if (isListing) {
  for (const file of failedFiles) print(file);
} else {
  for (const [name, text] of failures) print(`${statuses.get(name) === 'failed' ? '' : 'UNSTEADY '}${shorten(text)}`);
  const count = wanted => [...statuses.values()].filter(status => status === wanted).length;
  print(`${count('passed')} passed, ${count('failed')} failed`);
}
