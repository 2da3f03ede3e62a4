/** Leaves out the tests that `--tags-filter` does not select, which Vitest would report as skipped. */
import { type RunnerTask, type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest';

type Collected = (files: RunnerTestFile[]) => unknown;

export default class SelectingRunner extends TestRunner {
  #report?: Collected;

  /** Vitest sets it to what reports the tests of a file. */
  set onCollected(report: Collected) {
    this.#report = files => {
      for (const file of files) select(file);
      return report(files);
    };
  }

  get onCollected(): Collected | undefined {
    return this.#report;
  }
}

/** Returns whether something is selected. A file without any test would be an error, and keeps what it has. */
function select(suite: RunnerTestSuite): boolean {
  const isSelected = (task: RunnerTask) =>
    task.type === 'suite' ? select(task) : TestRunner.matchesTags(task.tags ?? []);
  const selected = suite.tasks.filter(isSelected);
  if (selected.length > 0) suite.tasks = selected;
  return selected.length > 0;
}
