/** Counts the SMS segments of a text (GSM 03.38, and its UCS-2 fallback). */

const basic = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** Each takes two septets: an escape and the character, which must stay in the same segment. */
const extended = new Set('\f^{}\\[~]|€');

export function countSegments(text: string): number {
  const isGsm = [...text].every(character => basic.has(character) || extended.has(character));
  return isGsm ? count(text, 160, 153, sizeInGsm) : count(text, 70, 67, character => character.length);
}

function sizeInGsm(character: string): number {
  return extended.has(character) ? 2 : 1;
}

function count(text: string, alone: number, each: number, sizeOf: (character: string) => number): number {
  let total = 0;
  let segments = 1;
  let filled = 0;
  for (const character of text) {
    const size = sizeOf(character);
    total += size;
    if (filled + size > each) {
      segments++;
      filled = 0;
    }
    filled += size;
  }
  return total <= alone ? 1 : segments;
}
