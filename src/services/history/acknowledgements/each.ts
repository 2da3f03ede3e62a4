/** Answers to many occurrences, each in its own transaction, such as the alerts of a bundle or of a payload. */
import { FairSlots } from '../../../lib/load/fair-slots.ts';

const perOrganization = 4;
/** Each takes a connection of the pool for some milliseconds. Organizations take turns. */
const slots = new FairSlots(6, perOrganization);

/** Calls `answer` for each, several at once. Rejects with the first error; only what waits for a slot by then still begins. */
export async function answerEach<T>(
  organizationId: number,
  all: readonly T[],
  answer: (one: T) => Promise<unknown>,
): Promise<void> {
  if (all.length === 1) return void (await answer(all[0]!));
  const queue = takeFrom(all);
  const work = async () => {
    for (const one of queue) await slots.run(organizationId, () => answer(one));
  };
  await Promise.all(Array.from({ length: Math.min(perOrganization, all.length) }, work));
}

/** Shared by several loops: one that ends with an error closes the generator, which ends the others. */
function* takeFrom<T>(all: readonly T[]): Generator<T> {
  yield* all;
}
