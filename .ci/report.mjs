/** Prints the failures in JSON test reports, and the test counts of all of them. */
import { readFileSync } from 'node:fs';

const reports = process.argv.slice(2).map(file => JSON.parse(readFileSync(file, 'utf8')));
const print = text => process.stdout.write(`${text}\n`);

for (const { name, message, assertionResults } of reports.flatMap(({ testResults }) => testResults)) {
  const failed = assertionResults.filter(({ status }) => status === 'failed');
  for (const { fullName, failureMessages } of failed) print(`${name}: ${fullName}\n${failureMessages.join('\n')}`);
  if (failed.length === 0 && message) print(`${name}\n${message}`);
}
const sum = count => reports.reduce((total, report) => total + report[count], 0);
print(`${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed`);
