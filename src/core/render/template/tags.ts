/** The tags and operators that differ from the library's: they charge the budget before the library does the work. */
import {
  CaptureTag,
  CaseTag,
  type Context,
  Drop,
  defaultOperators,
  type Emitter,
  evalToken,
  ForTag,
  type Template as Node,
  type Operators,
  TokenKind,
  type Value,
} from 'liquidjs';
import {
  CapturedText,
  isPlainObject,
  keysOf,
  type MeteredContext,
  type RenderContext,
  SkeletonWriter,
} from './context.ts';
import { type Budget, itemWeight, safeRange, weigh } from './limits.ts';

type BinaryOperator = (left: unknown, right: unknown, context: Context) => Generator<unknown, boolean, unknown>;

/** Operators that only look at whether a value is truthy. */
const logical = ['and', 'not', 'or'];

export const operators: Operators = Object.fromEntries(
  Object.entries(defaultOperators).map(([name, operate]) => [
    name,
    (...operands: unknown[]) => {
      const { budget } = operands.at(-1) as MeteredContext;
      budget.use(itemWeight);
      if (!logical.includes(name)) {
        const [left, right] = [weigh(operands[0], budget.work), weigh(operands[1], budget.work)];
        budget.use(left + right + (name === 'contains' ? (left * right) / 64 : 0));
      }
      return (operate as (...operands: unknown[]) => ReturnType<typeof operate>)(...operands);
    },
  ]),
);

export class Capture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const rendering = context as RenderContext;
    const writer = new SkeletonWriter(rendering);
    const { left } = rendering;
    yield this.liquid.renderer.renderTemplates(this.templates, rendering, writer);
    rendering.bottom()[this.variable] = new CapturedText(writer.buffer, rendering.values, left - rendering.left);
  }
}

/** The library's `case` compares without charging the budget; this one uses the metered `==` operator. */
export class Case extends CaseTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const { renderer } = this.liquid;
    const { value, branches, elseTemplates } = this as unknown as {
      value: Value;
      branches: { values: EvaluatedToken[]; templates: Node[] }[];
      elseTemplates: Node[];
    };
    const equals = operators['=='] as BinaryOperator;
    const target = toPlain(yield value.value(context, false));
    let isFound = false;
    for (const { values, templates } of branches) {
      for (const token of values) {
        if (!(yield equals(target, yield evalToken(token, context), context))) continue;
        yield renderer.renderTemplates(templates, context, emitter);
        isFound = true;
        break;
      }
    }
    if (!isFound) yield renderer.renderTemplates(elseTemplates, context, emitter);
  }
}

/** Charges the budget for a list before the library copies it. */
export class For extends ForTag {
  constructor(...parsed: ConstructorParameters<typeof ForTag>) {
    super(...parsed);
    const { collection } = this;
    limitRange(collection);
    const initial = {
      *evaluate(context: Context): Generator<unknown, unknown, unknown> {
        return toItems(toPlain(yield evalToken(collection, context)), (context as MeteredContext).budget);
      },
    };
    const getText = () => collection.getText();
    this.collection = { kind: TokenKind.FilteredValue, initial, filters: [], getText } as unknown as typeof collection;
  }
}

function toItems(value: unknown, budget: Budget): unknown {
  if (Array.isArray(value)) budget.use(value.length / 8);
  if (!isPlainObject(value)) return value;
  return keysOf(value, budget).map(key => [key, (value as Record<string, unknown>)[key]]);
}

function toPlain(value: unknown): unknown {
  return value instanceof Drop ? value.valueOf() : value;
}

type EvaluatedToken = Parameters<typeof evalToken>[0];

/** Replaces a range token, wherever it is nested, by one that `safeRange` evaluates. */
export function limitRange(token: unknown): void {
  if (typeof token !== 'object' || token === null) return;
  const { kind, props, variable, lhs, rhs } = token as {
    kind?: TokenKind;
    props?: unknown[];
    variable?: unknown;
    lhs?: EvaluatedToken;
    rhs?: EvaluatedToken;
  };
  if (kind === TokenKind.PropertyAccess) for (const inner of [variable, ...(props ?? [])]) limitRange(inner);
  if (kind !== TokenKind.Range) return;
  limitRange(lhs);
  limitRange(rhs);
  const initial = {
    *evaluate(context: Context): Generator<unknown, number[], unknown> {
      const [low, high] = [yield evalToken(lhs, context), yield evalToken(rhs, context)];
      return safeRange((context as MeteredContext).budget, toBound(low), toBound(high));
    },
  };
  Object.assign(token, { kind: TokenKind.FilteredValue, initial, filters: [] });
}

/** Prevents that a list is joined into a text only to find that it is not a number. */
function toBound(value: unknown): unknown {
  return typeof value === 'object' && !(value instanceof Drop) ? Number.NaN : value;
}
