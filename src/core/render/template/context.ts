/**
 * The context that a template runs in. Reading a property and opening a scope cost units of work; it collects the values,
 * counts the output and notes missing variables.
 */
import { Context, Drop, type Emitter, type Liquid, toValueSync } from 'liquidjs';
import type { Clock } from './filters.ts';
import { Budget, inlineLimits, itemWeight, LimitError, templateLimits, type WeightedValue, weigh } from './limits.ts';
import { joinParts, splitSlots, toSlot } from './slots.ts';

export type Path = readonly (string | number)[];

export interface RunOptions {
  /** The variables. Only own properties of plain objects and lists are visible. */
  scope: object;
  now: unknown;
  timezone: string;
  /** The locale that dates are formatted in. */
  locale: string;
  /** Collects the paths of variables that the scope does not have. */
  missing: Set<string>;
  /** Maximum characters of the output, values included. */
  maxOutput?: number;
  /** The rest of the message's budget when it is rendered on the event loop; exceeding it throws InlineLimitError. */
  inline?: Budget | undefined;
}

/** The library's context, except that reading a property and opening a scope cost units of work. */
export class MeteredContext extends Context {
  get budget(): Budget {
    return this.memoryLimit as unknown as Budget;
  }

  override readProperty(scope: Parameters<Context['readProperty']>[0], name: Parameters<Context['readProperty']>[1]) {
    const key: unknown = name instanceof Drop ? name.valueOf() : name;
    this.budget.use(typeof key === 'string' ? propertyWeight + key.length : propertyWeight);
    // The library would join a list into a property name, however long. No property has such a name.
    if (typeof key === 'object' && key !== null) return undefined;
    if (key === 'size' && isPlainObject(scope) && !Object.hasOwn(scope, 'size'))
      return keysOf(scope, this.budget).length;
    return super.readProperty(scope, key as string);
  }

  override spawn(scope: object = {}): Context {
    this.budget.use(spawnWeight);
    const { sync, globals, strictVariables, ownPropertyOnly, renderLimit, memoryLimit, liquid } = this;
    const options = { sync, globals, strictVariables, ownPropertyOnly };
    return new MeteredContext(scope, this.opts, options, { renderLimit, memoryLimit, liquid });
  }
}

/** Units of work for reading a property, and for opening a scope for an item of a list. */
export const propertyWeight = 8;
const spawnWeight = 50;

export function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Drop);
}

export function keysOf(value: object, budget: Budget): string[] {
  const keys = Object.keys(value);
  budget.use(keys.length * itemWeight);
  return keys;
}

/** The context of a run. It also collects the values and the names of missing variables. */
export class RenderContext extends MeteredContext implements Clock {
  readonly values: unknown[] = [];
  readonly missing: Set<string>;
  readonly now: unknown;
  readonly timezone: string;
  /** Above zero while a condition or a `default` is evaluated: a variable may be missing there. */
  lenientDepth = 0;
  /** Characters that may still be output. */
  left: number;

  constructor(
    { scope, now, timezone, missing, inline, maxOutput = templateLimits.output }: RunOptions,
    liquid: Liquid,
    options: Liquid['options'],
  ) {
    const budget = inline ?? new Budget(templateLimits);
    budget.restartClock();
    const limits = { memoryLimit: budget, renderLimit: budget, liquid };
    super(scope, options, { sync: true }, limits as unknown as ConstructorParameters<typeof Context>[3]);
    this.missing = missing;
    this.now = now;
    this.timezone = timezone;
    this.left = inline ? Math.min(maxOutput, inlineLimits.output) : maxOutput;
  }

  override *_get(path: (string | number | Drop)[]): IterableIterator<unknown> {
    // The library would join a list into a name, once for each scope.
    const value: unknown = typeof path[0] === 'object' ? undefined : yield super._get(path);
    if (value === undefined && this.lenientDepth === 0) this.noteMissing(path);
    return value;
  }

  /** Does the same as `_get`, without its generators. */
  readPath(path: Path): unknown {
    const { scopes } = this as unknown as { scopes: object[] };
    let value: unknown = scopes.findLast(scope => path[0]! in scope) ?? this.environments;
    for (const key of path) value = toValueSync(this.readProperty(value as object, key) as Generator);
    if (value === undefined && this.lenientDepth === 0) this.noteMissing(path);
    return value;
  }

  private noteMissing(path: readonly unknown[]): void {
    let name = '';
    for (const part of path) {
      if (name.length > maxMissingLength) break;
      const text = typeof part === 'object' ? '' : String(part);
      name += `${name === '' ? '' : '.'}${text.slice(0, maxMissingLength)}`;
    }
    this.missing.add(name.slice(0, maxMissingLength));
  }

  /** Stores a value and returns its slot. */
  addValue(value: unknown): string {
    if (value instanceof CapturedText) {
      // The skeleton itself is counted by the writer.
      this.countOutput(value.weight - value.skeleton.length);
      return value.skeleton;
    }
    return toSlot(this.storeValue(value));
  }

  /** Stores a value that was not captured, and returns its index. */
  storeValue(value: unknown): number {
    this.countOutput(weigh(value, this.left));
    return this.values.push(value) - 1;
  }

  countOutput(characters: number): void {
    this.left -= characters;
    if (this.left < 0) throw new LimitError('produces too much text');
  }
}

/** Maximum length of the reported name of a missing variable. */
const maxMissingLength = 200;

export class SkeletonWriter implements Emitter {
  buffer = '';
  private readonly context: RenderContext;

  constructor(context: RenderContext) {
    this.context = context;
  }

  write(text: unknown): void {
    const output = String(text ?? '');
    this.context.countOutput(output.length);
    this.buffer += output;
  }
}

/** Captured text keeps its slots, so that it is output as the author's text with values in it, not as one value. */
export class CapturedText extends Drop implements WeightedValue {
  readonly skeleton: string;
  readonly weight: number;
  private readonly values: readonly unknown[];
  private text: string | undefined;

  constructor(skeleton: string, values: readonly unknown[], weight: number) {
    super();
    this.skeleton = skeleton;
    this.values = values;
    this.weight = weight;
  }

  /** Joins the text once. Its cost was charged when it was captured. */
  override valueOf(): string {
    this.text ??= joinParts(splitSlots(this.skeleton), this.values);
    return this.text;
  }
}
