/**
 * JMESPath: what filters and expressions over users are written in. The library evaluates; what an evaluation may cost
 * is metered here, step by step and before anything large is made (expression-costs.ts), so that no expression and no
 * context holds up a process. The same expression on the same value always ends the same way: nothing asks the clock.
 */
import { compile, TreeInterpreter } from '@jmespath-community/jmespath';
import {
  ExpressionLimit,
  functionCosts,
  type Meter,
  ownFunctions,
  shallowSize,
  sizeOfAll,
  weigh,
} from './expression-costs.ts';
import { isObject, type Json } from './json.ts';
import { findPredicateMistake } from './predicate.ts';

export { ExpressionLimit } from './expression-costs.ts';

export const expressionLimits = {
  /** Characters of an expression. */
  source: 4_000,
  /** Steps of one evaluation: 0.1 µs each, 0.3 µs where memory is made and collected; about 10 to 30 ms. */
  steps: 100_000,
  /** The same for each of many users, of whom a page holds a thousand. */
  stepsForUser: 10_000,
  /** Characters and items of what an expression yields, where that is shown. */
  output: 100_000,
} as const;

/** What the expression makes of a value, and whether that is `true`. Throws when it does not parse. */
export function compileExpression(
  expression: string,
  steps: number = expressionLimits.steps,
): (value: unknown) => { value: Json; isTrue: boolean } {
  const evaluate = prepareExpression(expression, steps);
  return given => {
    const value = evaluate(given);
    // The same list a thousand times in a list is small here, and large as soon as it is written out.
    if (weigh(value, expressionLimits.output) > expressionLimits.output) throw new ExpressionLimit('yields too much');
    return { value, isTrue: value === true };
  };
}

/**
 * Throws when it does not parse; the predicate throws when the value or the work is not what it takes. Only `true` is
 * true: JMESPath's own idea of truth, by which any text or list is, lets a slip in a filter tell everybody.
 */
export function compilePredicate(
  expression: string,
  steps: number = expressionLimits.steps,
): (value: unknown) => boolean {
  const evaluate = prepareExpression(expression, steps);
  return value => evaluate(value) === true;
}

/** What is wrong with a filter, as the end of a sentence; undefined when it is fine. */
export function findFilterMistake(expression: string): string | undefined {
  let tree: Tree;
  try {
    tree = parseExpression(expression);
  } catch (error) {
    return `is not a JMESPath expression: ${error instanceof Error ? error.message : String(error)}`;
  }
  return findPredicateMistake(tree);
}

function prepareExpression(expression: string, steps: number): (value: unknown) => Json {
  const tree = markConditions(parseExpression(expression)) as Tree;
  return value => {
    meter.left = steps;
    try {
      return interpreter.search(tree, value as never) as Json;
    } catch (error) {
      throw inWords(error);
    }
  };
}

function parseExpression(expression: string): Tree {
  if (expression.length > expressionLimits.source) {
    throw new ExpressionLimit(`is longer than ${expressionLimits.source} characters`);
  }
  try {
    return compile(expression);
  } catch (error) {
    throw inWords(error);
  }
}

function inWords(error: unknown): unknown {
  return error instanceof RangeError ? new ExpressionLimit('is nested too deep, or takes too long a list') : error;
}

type Tree = ReturnType<typeof compile>;
/** A node that the library does not know: its child's value is going to be asked whether it is true. */
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

/** Charges for what the library does with a node before it does it. Evaluation is synchronous: one meter is enough. */
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
        // They are compared up to the end of the smaller one, at the most.
        meter.charge(Math.min(weigh(first, meter.left, 4), weigh(second, meter.left, 4)));
        return super.visit({ ...rest, left: literal(first), right: literal(second) } as Tree, value);
      }
      case 'LetExpression':
        meter.charge((node as Extract<Tree, { type: 'LetExpression' }>).bindings.length ** 2);
        break;
    }
    return super.visit(node, value);
  }

  /** The library makes an interpreter with a table of functions of its own; here all share the one that is metered. */
  override withScope(scope: Parameters<typeof TreeInterpreter.withScope>[0]): typeof TreeInterpreter {
    const outer = (this as unknown as { _scope: { withScope(data: object): unknown } })._scope;
    return Object.assign(Object.create(this), { _scope: outer.withScope(scope) });
  }
}

const interpreter = new MeteredInterpreter();
const { runtime } = interpreter;
for (const [name, work] of Object.entries(ownFunctions)) {
  runtime._functionTable[name]!._func = (given: unknown[]) => work(meter, given) as never;
}
const call = runtime.callFunction.bind(runtime);
const visit = (node: unknown, value: unknown) => interpreter.visit(node as Tree, value as Value);
runtime.callFunction = (name, given) => {
  const { left } = meter;
  meter.charge(functionCosts.get(name)?.(given, { visit, left }) ?? sizeOfAll(given, left));
  return call(name, given);
};

function literal(value: unknown): Tree {
  return { type: 'Literal', value } as Tree;
}

/** Where the library asks whether an object is empty, it counts all of its keys. */
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
