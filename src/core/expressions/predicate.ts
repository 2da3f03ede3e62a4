/**
 * Finds mistakes in an expression that must yield true or false. By JMESPath's own truthiness, most other results count as
 * true, so a typo would notify everyone: `plan = 'pro'` yields an object, which is true.
 */
import { isObject } from '../json.ts';
import { lookUp } from '../lookup.ts';

interface Node {
  type: string;
  [part: string]: unknown;
}

/** Result types of nodes. The type of a field, a variable or an index is known only with data. */
const nodeResults: Record<string, string> = {
  MultiSelectList: 'a list',
  MultiSelectHash: 'an object',
  Projection: 'a list',
  FilterProjection: 'a list',
  ValueProjection: 'a list',
  Flatten: 'a list',
  Slice: 'a list',
  Arithmetic: 'a number',
  Unary: 'a number',
  ExpressionReference: 'an expression',
};

/** Result types of the functions that never yield a boolean. */
const functionResults: Record<string, string> = {
  ...Object.fromEntries(
    ['abs', 'avg', 'ceil', 'find_first', 'find_last', 'floor', 'length', 'sum', 'to_number'].map(name => [
      name,
      'a number',
    ]),
  ),
  ...Object.fromEntries(
    [
      'join',
      'lower',
      'pad_left',
      'pad_right',
      'replace',
      'to_string',
      'trim',
      'trim_left',
      'trim_right',
      'type',
      'upper',
    ].map(name => [name, 'a text']),
  ),
  ...Object.fromEntries(
    ['items', 'keys', 'map', 'reverse', 'sort', 'sort_by', 'split', 'to_array', 'values', 'zip'].map(name => [
      name,
      'a list',
    ]),
  ),
  ...Object.fromEntries(['from_items', 'group_by', 'merge'].map(name => [name, 'an object'])),
};

/** Returns why this cannot be a filter, as the end of a sentence; undefined when it may yield true or false. */
export function findPredicateMistake(tree: unknown): string | undefined {
  if (hasStrayBinding(tree)) return 'has a single "=": did you mean "=="?';
  const found = resultTypeOf(tree as Node);
  if (!found) return undefined;
  const advice = found === 'a list' ? ', such as length(…) > `0`' : '';
  return `yields ${found}, but must yield true or false: compare it with something${advice}`;
}

function resultTypeOf(node: Node): string | undefined {
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'boolean' ? undefined : `always ${JSON.stringify(node.value)?.slice(0, 40)}`;
    case 'Function':
      return lookUp(functionResults, String(node.name));
    case 'Pipe':
    case 'Subexpression':
      return resultTypeOf(node.right as Node);
    // The left side is the result only when it is falsy, so the right side decides.
    case 'AndExpression':
      return resultTypeOf(node.right as Node);
    case 'OrExpression':
      return resultTypeOf(node.left as Node) ?? resultTypeOf(node.right as Node);
    case 'Ternary':
      return resultTypeOf(node.trueExpr as Node) ?? resultTypeOf(node.falseExpr as Node);
    case 'LetExpression':
      return resultTypeOf(node.expression as Node);
    default:
      return lookUp(nodeResults, node.type);
  }
}

/** `let` binds variables; anywhere else a binding is a comparison with "=" instead of "==". */
function hasStrayBinding(part: unknown): boolean {
  if (Array.isArray(part)) return part.some(hasStrayBinding);
  if (!isObject(part) || part.type === 'Literal') return false;
  if (part.type === 'Binding') return true;
  const { bindings, ...rest } = part;
  const bound = Array.isArray(bindings) ? bindings.map(one => (isObject(one) ? one.reference : one)) : [];
  return [...bound, ...Object.values(rest)].some(hasStrayBinding);
}
