/**
 * Regular expressions of context schemas, run by RE2: its time is linear in the length of the text and the size of the
 * pattern, where JavaScript's engine can take exponential time on 30 characters.
 */
import type { RE2JS } from 're2js';

export const patternLimits = {
  /** The maximum length of a pattern in characters. */
  source: 500,
  /** Instructions of a compiled pattern: `a{100}` has 100. */
  size: 200,
  perSchema: 20,
  /** Unicode classes and ranges in all patterns of a schema: `\p{L}` counts as 1 and takes about 0.2 ms to compile. */
  classes: 100,
  /** The maximum length of a string that is matched; a longer one never matches. */
  text: 1_024,
};

export interface Pattern {
  test: (text: string) => boolean;
  /** The maximum cost of a character, in steps of the check. */
  size: number;
}

const tooLarge = 'is too large a pattern: use fewer repetitions, or maxLength';

let engine: typeof RE2JS | undefined;

/** Loads RE2 before the first schema is used. It takes 60 ms, and most installations have no schemas. */
export async function loadPatterns(): Promise<void> {
  engine ??= (await import('re2js')).RE2JS;
}

/** The cost factor of case-insensitive classes, of which every character is folded: `(?i)[a-\x{10FFFF}]` takes 5 ms. */
const foldedClassCost = 25;

/** Counts the parts that are slow to compile: Unicode classes and ranges that end beyond ASCII. */
export function countClasses(source: string): number {
  const classes = source.match(/\\[pP]|-(?:\\x\{|[^\0-\x7f])/g)?.length ?? 0;
  return /\(\?[a-zA-Z]*i/.test(source) ? classes * foldedClassCost : classes;
}

/** Counts the copies that repetitions create: each is compiled before the total size is known. */
function countCopies(source: string): number {
  return [...source.matchAll(/(?<!\\[xpP])\{(\d+)(?:,(\d*))?\}/g)].reduce(
    (sum, [, min, max]) => sum + Number(max || min),
    0,
  );
}

export function compilePattern(source: string): Pattern | { mistake: string } {
  if (source.length > patternLimits.source) return { mistake: `is longer than ${patternLimits.source} characters` };
  if (countCopies(source) > patternLimits.size) return { mistake: tooLarge };
  if (!engine) throw new Error('call loadPatterns() before using schemas');
  let compiled: RE2JS;
  try {
    compiled = engine.compile(source);
  } catch (error) {
    const { message } = error as Error;
    return { mistake: `cannot be used as a pattern: ${message} (look-around and back-references are not supported)` };
  }
  const size = compiled.programSize();
  if (size > patternLimits.size) return { mistake: tooLarge };
  return { size, test: text => text.length <= patternLimits.text && compiled.matcher(text).find() };
}
