/**
 * What is wrong with an expression that must say yes or no. A filter of another kind would be true of nearly everything
 * by JMESPath's own idea of truth, so that a slip tells everybody: `plan = 'pro'` builds an object, which is true.
 */
import { isObject } from './json.ts';

interface Node {
  type: string;
  [part: string]: unknown;
}

/** What these kinds of node yield. Of a field, a variable or an index nothing is known until there is data. */
const yields: Record<string, string> = {
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

/** Of the functions that never yield a boolean. */
const functionsYield: Record<string, string> = {
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

/** Why this cannot be a filter, as the end of a sentence; undefined when it may say yes or no. */
export function findPredicateMistake(tree: unknown): string | undefined {
  if (hasStrayBinding(tree)) return 'has a single "=": did you mean "=="?';
  const found = whatItYields(tree as Node);
  if (!found) return undefined;
  const advice = found === 'a list' ? ', such as length(…) > `0`' : '';
  return `yields ${found}, and must yield true or false: compare it with something${advice}`;
}

function whatItYields(node: Node): string | undefined {
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'boolean' ? undefined : `always ${JSON.stringify(node.value)?.slice(0, 40)}`;
    case 'Function':
      return functionsYield[String(node.name)];
    case 'Pipe':
    case 'Subexpression':
      return whatItYields(node.right as Node);
    // Whatever is on the left is the answer where it is not true of anything.
    case 'AndExpression':
      return whatItYields(node.right as Node);
    case 'OrExpression':
      return whatItYields(node.left as Node) ?? whatItYields(node.right as Node);
    case 'Ternary':
      return whatItYields(node.trueExpr as Node) ?? whatItYields(node.falseExpr as Node);
    case 'LetExpression':
      return whatItYields(node.expression as Node);
    default:
      return yields[node.type];
  }
}

/** `let` binds variables; anywhere else a binding is a comparison that lacks a sign. */
function hasStrayBinding(part: unknown): boolean {
  if (Array.isArray(part)) return part.some(hasStrayBinding);
  if (!isObject(part) || part.type === 'Literal') return false;
  if (part.type === 'Binding') return true;
  const { bindings, ...rest } = part;
  const bound = Array.isArray(bindings) ? bindings.map(one => (isObject(one) ? one.reference : one)) : [];
  return [...bound, ...Object.values(rest)].some(hasStrayBinding);
}
