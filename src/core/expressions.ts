/** JMESPath: what filters and expressions over users are written in. */
import { compile, TreeInterpreter } from '@jmespath-community/jmespath';
import { isObject, type Json } from './json.ts';

/** What the expression makes of a value, and whether that counts as true. Throws when it does not parse. */
export function compileExpression(expression: string): (value: unknown) => { value: Json; isTrue: boolean } {
  const tree = compile(expression);
  return given => {
    const value = TreeInterpreter.search(tree, given as never) as Json;
    return { value, isTrue: isTrue(value) };
  };
}

/** Throws when it does not parse. */
export function compilePredicate(expression: string): (value: unknown) => boolean {
  const evaluate = compileExpression(expression);
  return value => evaluate(value).isTrue;
}

/** JMESPath's own truth: false, null and whatever is empty are not. */
function isTrue(value: Json): boolean {
  if (value === null || value === false || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isObject(value) || Object.keys(value).length > 0;
}
