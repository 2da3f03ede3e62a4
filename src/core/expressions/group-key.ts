/** Keys by which messages are counted (throttles) or collected (digests), from an expression over the context. */
import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../json.ts';
import { compileExpression } from './expressions.ts';

const maxKeyLength = 200;

/** Returns a key of limited length that is equal for equal values. */
export function groupKey(value: unknown): string {
  const text = value === null || value === undefined ? '' : canonicalJson(value);
  return text.length <= maxKeyLength ? text : createHash('sha256').update(text).digest('hex');
}

/**
 * Returns a function from context to key; the key is empty without an expression and where it cannot be evaluated. The
 * expression is compiled on first use. Keys are cached per context, so that they can be computed ahead of a transaction.
 */
export function compileGroupKey(expression: string | undefined): (context: JsonObject) => string {
  if (expression === undefined) return () => '';
  let evaluate: ReturnType<typeof compileExpression> | undefined;
  const keys = new WeakMap<JsonObject, string>();
  const evaluateKey = (context: JsonObject) => {
    try {
      evaluate ??= compileExpression(expression);
      return groupKey(evaluate(context).value);
    } catch {
      return '';
    }
  };
  return context => {
    const key = keys.get(context) ?? evaluateKey(context);
    keys.set(context, key);
    return key;
  };
}
