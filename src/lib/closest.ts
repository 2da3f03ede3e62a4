/** Returns the candidate that was probably meant: the closest one, if few letters differ. For mistyped names. */
export function closestOf(text: string, candidates: Iterable<string>): string | undefined {
  // Longer texts would take long to compare, and are no names.
  if (text.length > maxLength) return undefined;
  let closest: string | undefined;
  let smallest = Math.max(1, Math.floor(text.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - text.length) >= smallest) continue;
    const distance = distanceOf(text, candidate);
    if (distance < smallest) [closest, smallest] = [candidate, distance];
  }
  return closest;
}

const maxLength = 100;

/** Counts the letters to insert, delete, replace or swap with their neighbor. */
function distanceOf(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(row[j - 1]! + 1, last[j]! + 1, replaced);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}
