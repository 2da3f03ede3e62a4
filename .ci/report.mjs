/** Of a JSON report of the tests: `files` lists those with a failure; without it, what failed and how many there were. */
import { readFileSync } from 'node:fs';

const [report, what] = process.argv.slice(2);
const { testResults, numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'));
const print = text => process.stdout.write(`${text}\n`);
const failedFiles = testResults.filter(({ status }) => status === 'failed');

if (what === 'files') {
  for (const { name } of failedFiles) print(name);
} else {
  for (const { name, message, assertionResults } of failedFiles) {
    const failed = assertionResults.filter(each => each.status === 'failed');
    for (const { fullName, failureMessages } of failed) print(`${name}: ${fullName}\n${failureMessages.join('\n')}`);
    if (failed.length === 0) print(`${name}\n${message}`);
  }
  print(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
}
