/**
 * A webhook's body that its author wrote as JSON. Inside quotes a value is escaped as text; outside of them it is inserted
 * as JSON, so that `{"total": {{ total }}}` works for a number, a text and a list alike.
 */
import type { Json } from '../json.ts';
import { type Part, PreparedText, rawText, splitSlots, type Values } from './template/slots.ts';

export interface JsonPiece {
  part: Part;
  isQuoted: boolean;
}

export function readJson(skeleton: string): JsonPiece[] {
  let isQuoted = false;
  return splitSlots(skeleton).map(part => {
    const piece = { part, isQuoted };
    if (typeof part === 'string') {
      for (const [token] of part.matchAll(/\\.|"/gs)) if (token === '"') isQuoted = !isQuoted;
    }
    return piece;
  });
}

/** Returns undefined if the result is not valid JSON. */
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
