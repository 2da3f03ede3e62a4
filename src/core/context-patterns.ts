/**
 * The regular expressions of a context's schema, by RE2: time grows with the text and the size of the pattern alone, where
 * the engine of JavaScript can be made to take for ever by 30 characters.
 */
import type { RE2JS } from 're2js';

export const patternLimits = {
  /** Characters of a pattern. */
  source: 500,
  /** Instructions of it, compiled: `a{100}` has 100. Twice 1,000 of them took 0.6 s for 4,096 characters. */
  size: 200,
  perSchema: 20,
  /** Characters of a string that a pattern is asked about; a longer one does not match. */
  text: 1_024,
};

export interface Pattern {
  test: (text: string) => boolean;
  /** What a character costs at most, in steps of the check. */
  size: number;
}

let engine: typeof RE2JS | undefined;

/** Before the first schema is looked at: that takes 60 ms of a start, and most installations have none. */
export async function loadPatterns(): Promise<void> {
  engine ??= (await import('re2js')).RE2JS;
}

export function compilePattern(source: string): Pattern | { mistake: string } {
  if (source.length > patternLimits.source) return { mistake: `is longer than ${patternLimits.source} characters` };
  if (!engine) throw new Error('loadPatterns() comes before any schema');
  let compiled: RE2JS;
  try {
    compiled = engine.compile(source);
  } catch (error) {
    const { message } = error as Error;
    return { mistake: `cannot be used as a pattern: ${message} (there is neither look-around nor back-reference)` };
  }
  const size = compiled.programSize();
  if (size > patternLimits.size) return { mistake: 'is too large a pattern: repeat less, or use maxLength' };
  return { size, test: text => text.length <= patternLimits.text && compiled.matcher(text).find() };
}
