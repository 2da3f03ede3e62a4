/** Counts the triggers that this process accepts, by event and key, in memory: nothing is read or written for a trigger. */
import { urgent } from '../../../core/trigger.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';

/** Further ones are not counted until others are idle. */
const maxCounts = 50_000;

export interface TriggerCount {
  /** Of the event and key. */
  name: string;
  path: Required<ResolvedPath>;
  /** Undefined: an account triggered it. */
  keyId: string | undefined;
  /** Since the last `endMinute`. */
  normal: number;
  urgent: number;
  /** Since they were last taken. */
  unlearned: number;
}

export class TriggerCounts {
  readonly #counts = new Map<string, TriggerCount>();

  count(path: Required<ResolvedPath>, keyId: string | undefined, priority: number): void {
    const name = `${path.event.id} ${keyId}`;
    let count = this.#counts.get(name);
    if (!count) {
      if (this.#counts.size >= maxCounts) return;
      count = { name, path, keyId, normal: 0, urgent: 0, unlearned: 0 };
      this.#counts.set(name, count);
    }
    // The settings may have changed.
    count.path = path;
    if (priority === urgent) count.urgent++;
    else count.normal++;
    count.unlearned++;
  }

  /** Returns copies of what was counted in this minute or, with `learns`, since the last time; the latter is then zero. */
  take(learns: boolean): TriggerCount[] {
    const taken: TriggerCount[] = [];
    for (const count of this.#counts.values()) {
      const unlearned = learns ? count.unlearned : 0;
      if (count.normal + count.urgent + unlearned === 0) continue;
      taken.push({ ...count, unlearned });
      count.unlearned -= unlearned;
    }
    return taken;
  }

  /** Begins the next minute, without what was taken in this one. */
  endMinute(taken: readonly TriggerCount[]): void {
    for (const { name, normal, urgent } of taken) {
      const count = this.#counts.get(name);
      if (!count) continue;
      count.normal -= normal;
      count.urgent -= urgent;
    }
    for (const [name, { normal, urgent, unlearned }] of this.#counts) {
      if (normal + urgent + unlearned === 0) this.#counts.delete(name);
    }
  }
}
