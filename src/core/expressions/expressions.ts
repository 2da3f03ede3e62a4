/**
 * JMESPath, the language of filters and user expressions. The library evaluates; this module meters the cost of each step
 * before it runs (costs.ts), so that no expression or context blocks a process. The limit counts steps instead of time, so
 * the same expression on the same value always gives the same result.
 */
import { compile, TreeInterpreter } from '@jmespath-community/jmespath';
import { isObject, type Json } from '../json.ts';
import {
  deepSize,
  ExpressionLimit,
  functionCosts,
  type Meter,
  replacedFunctions,
  shallowSize,
  sizeOfAll,
} from './costs.ts';
import { findPredicateMistake } from './predicate.ts';

export const expressionLimits = {
  /** The maximum length of an expression in characters. */
  source: 4_000,
  /** Steps of one evaluation: 0.1 to 0.3 µs each, 10 to 30 ms in total. */
  steps: 100_000,
  /** Steps for each user of a page, which has a thousand users. */
  stepsForUser: 10_000,
  /** The maximum size of a result in characters and items, where the result is shown. */
  output: 100_000,
} as const;

/** Compiles an expression to a function that returns its result and whether that is `true`. Throws when it does not parse. */
export function compileExpression(
  expression: string,
  steps: number = expressionLimits.steps,
): (value: unknown) => { value: Json; isTrue: boolean } {
  const evaluate = prepareExpression(expression, steps);
  return input => {
    const value = evaluate(input);
    // A list that contains the same list a thousand times is small in memory, but large when serialized.
    if (deepSize(value, expressionLimits.output) > expressionLimits.output)
      throw new ExpressionLimit('yields too much data');
    return { value, isTrue: value === true };
  };
}

/**
 * Compiles a predicate. Throws when it does not parse; the predicate throws when it cannot be evaluated on a value or takes
 * too much work. Only `true` matches: with JMESPath's own truthiness, where any text or list is true, a mistake in a filter
 * would notify everyone.
 */
export function compilePredicate(
  expression: string,
  steps: number = expressionLimits.steps,
): (value: unknown) => boolean {
  const evaluate = prepareExpression(expression, steps);
  return value => evaluate(value) === true;
}

/** Creates a predicate that is compiled on first use, and throws then: a plan may have thousands, and each takes 3 ms. */
export function lazyPredicate(expression: string, steps?: number): (value: unknown) => boolean {
  let compiled: ((value: unknown) => boolean) | undefined;
  return value => {
    compiled ??= compilePredicate(expression, steps);
    return compiled(value);
  };
}

/** Returns why an expression cannot be used, as the end of a sentence; undefined when it is valid. */
export function findExpressionMistake(expression: string): string | undefined {
  try {
    compileTree(expression);
    return undefined;
  } catch (error) {
    return notAnExpression(error);
  }
}

/** Returns the mistake in a filter, as the end of a sentence; undefined when it is valid. */
export function findFilterMistake(expression: string): string | undefined {
  try {
    return findPredicateMistake(parseExpression(expression));
  } catch (error) {
    // A deep tree may parse and overflow the stack here.
    return notAnExpression(error);
  }
}

function notAnExpression(error: unknown): string {
  const cause = toLimitError(error);
  return `is not a JMESPath expression: ${cause instanceof Error ? cause.message : String(cause)}`;
}

function prepareExpression(expression: string, steps: number): (value: unknown) => Json {
  const tree = compileTree(expression);
  return value => {
    meter.left = steps;
    try {
      return interpreter.search(tree, value as never) as Json;
    } catch (error) {
      throw toLimitError(error);
    }
  };
}

function compileTree(expression: string): Tree {
  const tree = parseExpression(expression);
  try {
    return markConditions(tree) as Tree;
  } catch (error) {
    throw toLimitError(error);
  }
}

function parseExpression(expression: string): Tree {
  if (expression.length > expressionLimits.source) {
    throw new ExpressionLimit(`is longer than ${expressionLimits.source} characters`);
  }
  try {
    return compile(expression);
  } catch (error) {
    throw toLimitError(error);
  }
}

/** Turns a stack overflow into an ExpressionLimit. */
function toLimitError(error: unknown): unknown {
  return error instanceof RangeError ? new ExpressionLimit('is nested too deep, or uses too long a list') : error;
}

type Tree = ReturnType<typeof compile>;
/** `Condition` is our own node type: the library tests the truthiness of its child's value. */
type Node = Tree | { type: 'Condition'; child: Tree };
type Value = Parameters<typeof TreeInterpreter.visit>[1];

const meter: Meter = {
  left: 0,
  charge(cost) {
    this.left -= cost;
    if (!(this.left >= 0)) throw new ExpressionLimit('takes too much work on this data');
  },
};

const Library = TreeInterpreter.constructor as new () => typeof TreeInterpreter;

/** Charges for each node before the library evaluates it. Evaluation is synchronous, so one meter is enough. */
class MeteredInterpreter extends Library {
  override visit(node: Tree, value: Value): ReturnType<typeof TreeInterpreter.visit> {
    meter.charge(1);
    switch ((node as Node).type) {
      case 'Condition': {
        const result = this.visit((node as unknown as { child: Tree }).child, value);
        if (isObject(result)) meter.charge(shallowSize(result));
        return result;
      }
      case 'Slice':
        meter.charge(typeof value === 'string' ? value.length : shallowSize(value));
        break;
      case 'Flatten': {
        const list = this.visit((node as { child: Tree } & Tree).child, value);
        if (!Array.isArray(list)) return null;
        for (const item of list) meter.charge(Array.isArray(item) ? item.length + 1 : 1);
        return list.flat() as never;
      }
      case 'ValueProjection': {
        const { left, ...rest } = node as Extract<Tree, { left: Tree }>;
        const base = this.visit(left, value);
        meter.charge(shallowSize(base));
        return super.visit({ ...rest, left: literal(base) } as Tree, value);
      }
      case 'Comparator': {
        const { left, right, ...rest } = node as Extract<Tree, { left: Tree; right: Tree }>;
        const [first, second] = [this.visit(left, value), this.visit(right, value)];
        // The comparison reads at most the size of the smaller value.
        meter.charge(Math.min(deepSize(first, meter.left, 4), deepSize(second, meter.left, 4)));
        return super.visit({ ...rest, left: literal(first), right: literal(second) } as Tree, value);
      }
      case 'LetExpression':
        meter.charge((node as Extract<Tree, { type: 'LetExpression' }>).bindings.length ** 2);
        break;
    }
    return super.visit(node, value);
  }

  /** The library creates an interpreter with its own function table per scope; here all scopes share the metered one. */
  override withScope(scope: Parameters<typeof TreeInterpreter.withScope>[0]): typeof TreeInterpreter {
    const outer = (this as unknown as { _scope: { withScope(data: object): unknown } })._scope;
    return Object.assign(Object.create(this), { _scope: outer.withScope(scope) });
  }
}

const interpreter = new MeteredInterpreter();
const { runtime } = interpreter;
for (const [name, run] of Object.entries(replacedFunctions)) {
  runtime._functionTable[name]!._func = (args: unknown[]) => run(meter, args) as never;
}
const call = runtime.callFunction.bind(runtime);
const visit = (node: unknown, value: unknown) => interpreter.visit(node as Tree, value as Value);
runtime.callFunction = (name, args) => {
  const { left } = meter;
  meter.charge(functionCosts.get(name)?.(args, { visit, left }) ?? sizeOfAll(args, left));
  return call(name, args);
};

function literal(value: unknown): Tree {
  return { type: 'Literal', value } as Tree;
}

/** Wraps conditions in `Condition` nodes: to test the truthiness of an object, the library lists all of its keys. */
function markConditions(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(markConditions);
  if (!isObject(tree) || tree.type === 'Literal') return tree;
  const marked: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(tree)) {
    const child = markConditions(part);
    marked[name] = isCondition(tree.type, name) ? { type: 'Condition', child } : child;
  }
  return marked;
}

function isCondition(type: Json | undefined, part: string): boolean {
  if (part === 'condition') return true;
  if (part === 'left') return type === 'AndExpression' || type === 'OrExpression';
  return part === 'child' && type === 'NotExpression';
}
