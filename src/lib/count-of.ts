/** Returns a number with its noun, such as "1 message" or "2 messages". The noun must have a regular plural. */
export function countOf(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
