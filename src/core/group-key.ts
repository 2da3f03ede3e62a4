/** What an expression over the context gave, as a key that messages are counted or gathered by. */
import { createHash } from 'node:crypto';
import { compileExpression } from './expressions.ts';
import { canonicalJson, type JsonObject } from './json.ts';

const longestKey = 200;

/** What cannot be told apart belongs together. */
export function groupKey(value: unknown): string {
  const text = value === null || value === undefined ? '' : canonicalJson(value);
  return text.length <= longestKey ? text : createHash('sha256').update(text).digest('hex');
}

/** Without an expression, and where it cannot be evaluated, everything belongs together. */
export function compileGroupKey(expression: string | undefined): (context: JsonObject) => string {
  if (expression === undefined) return () => '';
  const evaluate = compileExpression(expression);
  return context => {
    try {
      return groupKey(evaluate(context).value);
    } catch {
      return '';
    }
  };
}
