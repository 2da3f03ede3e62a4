/**
 * A webhook's body that its author wrote as JSON. Inside of quotes a value is escaped as text; outside of them it is
 * written as the JSON that it is, so that `{"total": {{ total }}}` is right for a number, a text and a list alike.
 */
import type { Json } from '../json.ts';
import { type Part, PreparedText, rawText, splitSlots, type Values } from './template-slots.ts';

export interface JsonPiece {
  part: Part;
  isQuoted: boolean;
}

export function readJson(skeleton: string): JsonPiece[] {
  let isQuoted = false;
  return splitSlots(skeleton).map(part => {
    const piece = { part, isQuoted };
    if (typeof part === 'string') {
      for (const [sign] of part.matchAll(/\\.|"/gs)) if (sign === '"') isQuoted = !isQuoted;
    }
    return piece;
  });
}

/** Undefined when what comes out is no JSON. */
export function writeJson(pieces: readonly JsonPiece[], values: Values): { text: string; data: Json } | undefined {
  let text = '';
  for (const { part, isQuoted } of pieces) {
    if (typeof part === 'string') text += part;
    else text += isQuoted ? JSON.stringify(rawText(values[part])).slice(1, -1) : bare(values[part]);
  }
  try {
    return { text, data: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

function bare(value: unknown): string {
  if (value instanceof PreparedText && value.kind === 'json') return value.text;
  if (value instanceof PreparedText) return JSON.stringify(value.text);
  return JSON.stringify(value ?? null);
}
