/** Waits are counted in turns: on a busy machine each takes longer, and what is waited for does too. */
const turnMs = 20;
const turn = () => new Promise(resolve => setTimeout(resolve, turnMs));

/** Repeats the check until it passes, and returns its result; throws its last failure when the time is over. */
export async function eventually<T>(check: () => Promise<T> | T, withinMs = 5_000): Promise<T> {
  for (let turns = withinMs / turnMs; ; turns--) {
    try {
      return await check();
    } catch (error) {
      if (turns <= 0) throw error;
      await turn();
    }
  }
}

/** Waits until the result is truthy, and returns it. An error of `look` ends the wait, such as that a process has exited. */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<NonNullable<T>> {
  for (let turns = timeoutMs / turnMs; ; turns--) {
    const found = await look();
    if (found) return found;
    if (turns <= 0) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`);
    await turn();
  }
}
