/** Keeps stored text that reads from right to left, or says that it does, from reordering the sentence around it. */

/** Letters of right-to-left scripts, and the characters that control the direction. */
const reordering = /[\p{Bidi_Control}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const begin = '\u2068';
const end = '\u2069';

/**
 * Wraps such text in isolating characters; other text is returned as it is. An isolate also ends the embeddings and overrides in
 * it, but isolates in it have to be balanced: one more end would end ours.
 */
export function isolate(text: string): string {
  if (!reordering.test(text)) return text;
  let open = 0;
  const balanced = text.replace(/[\u2066-\u2069]/g, character => {
    if (character !== end) open++;
    else if (open === 0) return '';
    else open--;
    return character;
  });
  return begin + balanced + end.repeat(open + 1);
}
