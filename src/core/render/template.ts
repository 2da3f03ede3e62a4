/**
 * Liquid, fenced in: the tags and filters that a message has a use for, no files, no prototypes, no clock, and limits
 * on everything that a template can make grow. A run gives the skeleton with the values apart (template-slots.ts).
 */
import {
  CaptureTag,
  CaseTag,
  Context,
  Drop,
  defaultOperators,
  type Emitter,
  evalToken,
  IfTag,
  Liquid,
  LiquidError,
  type Template as Node,
  type Operators,
  Output,
  TokenKind,
  toValueSync,
  UnlessTag,
  Value,
} from 'liquidjs';
import { type Clock, filters } from './template-filters.ts';
import {
  charge,
  chargeSearch,
  inlineLimits,
  LimitError,
  Steps,
  safeRange,
  TooHeavy,
  tagCharacters,
  templateLimits,
  Work,
  weigh,
} from './template-limits.ts';
import { joinParts, slotText, splitSlots, withoutSlots } from './template-slots.ts';

export interface Template {
  nodes: Node[];
  plain: Plain | undefined;
}

/** A template without tags and filters: its skeleton is always the same. */
interface Plain {
  skeleton: string;
  paths: Path[];
}

type Path = readonly (string | number)[];

export interface TemplateOutput {
  skeleton: string;
  values: readonly unknown[];
}

export interface RunOptions {
  /** The variables. Only own properties of plain objects and lists are seen. */
  scope: object;
  now: unknown;
  timezone: string;
  /** Of dates. */
  locale: string;
  /** Collects the paths of variables that the scope does not have. */
  missing: Set<string>;
  /** Characters, values included. */
  output?: number;
  /** Whether others wait meanwhile: it throws TooHeavy where it could take long. */
  inline?: boolean | undefined;
}

/** Where a template is wrong, or where it failed. */
export class TemplateError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, line: number, column: number, cause: unknown) {
    super(message, { cause });
    this.line = line;
    this.column = column;
  }
}

/** Throws a TemplateError. */
export function parseTemplate(source: string): Template {
  if (source.length > templateLimits.source) {
    throw new TemplateError(`is longer than ${templateLimits.source} characters`, 1, 1, undefined);
  }
  try {
    const nodes = engine.parse(withoutSlots(source));
    prepare(nodes);
    return { nodes, plain: findPlain(nodes) };
  } catch (error) {
    throw toTemplateError(error);
  }
}

/** Compiled when it is first needed, which throws a TemplateError; TooHeavy where others wait and it could take long. */
export type LazyTemplate = (inline?: boolean) => Template;

export function lazyTemplate(source: string): LazyTemplate {
  let template: Template | undefined;
  return inline => {
    if (template) return template;
    if (inline && tagCharacters(source) > inlineLimits.tags) throw new TooHeavy();
    template = parseTemplate(source);
    return template;
  };
}

/** Throws a TemplateError, or TooHeavy. */
export function runTemplate({ nodes, plain }: Template, options: RunOptions): TemplateOutput {
  try {
    const run = plain && runPlain(plain, new Running(options));
    if (run) return run;
    const running = new Running(options);
    const sheet = new Sheet(running);
    toValueSync(engine.renderer.renderTemplates(nodes, running, sheet));
    return { skeleton: sheet.buffer, values: running.values };
  } catch (error) {
    if (options.inline && isLimit(error)) throw new TooHeavy();
    throw toTemplateError(error);
  }
}

/**
 * The same skeleton for all is hashed once where things are remembered by it, and not put together at all: a mail in its
 * layout takes 11 µs instead of 45. Undefined where it has come to a limit: the long way tells at which place.
 */
function runPlain({ skeleton, paths }: Plain, running: Running): TemplateOutput | undefined {
  for (const path of paths) running.values.push(running.look(path));
  const size = running.values.reduce<number>((sum, value) => sum + weigh(value), skeleton.length);
  return running.allows(size) ? { skeleton, values: running.values } : undefined;
}

function findPlain(nodes: readonly Node[]): Plain | undefined {
  const paths: Path[] = [];
  let skeleton = '';
  for (const node of nodes) {
    const path = node instanceof Output ? plainPath(node.value) : undefined;
    if (path) skeleton += slotText(paths.push(path) - 1);
    else if (node.token.kind === TokenKind.HTML) skeleton += textOf(node);
    else return undefined;
  }
  return { skeleton, paths };
}

/** The library's own context, which also keeps the values and notices what is missing. */
class Running extends Context implements Clock {
  readonly values: unknown[] = [];
  readonly missing: Set<string>;
  readonly now: unknown;
  readonly timezone: string;
  /** Above zero while a condition or a default is looked at: there a variable may be missing. */
  quiet = 0;
  private left: number;

  constructor({ scope, now, timezone, locale, missing, inline, output = templateLimits.output }: RunOptions) {
    const most = inline ? inlineLimits : templateLimits;
    const limits = { memoryLimit: new Work(most), renderLimit: new Steps(most), liquid: engine };
    super(scope, optionsFor(locale), { sync: true }, limits as unknown as ConstructorParameters<typeof Context>[3]);
    this.missing = missing;
    this.now = now;
    this.timezone = timezone;
    this.left = inline ? Math.min(output, inlineLimits.output) : output;
  }

  override *_get(path: (string | number | Drop)[]): IterableIterator<unknown> {
    const value: unknown = yield super._get(path);
    if (value === undefined && this.quiet === 0) this.noteMissing(path);
    return value;
  }

  /** What `_get` finds, without its generators. */
  look(path: Path): unknown {
    const { scopes } = this as unknown as { scopes: object[] };
    let value: unknown = scopes.findLast(scope => path[0]! in scope) ?? this.environments;
    for (const key of path) value = toValueSync(this.readProperty(value as object, key) as Generator);
    if (value === undefined && this.quiet === 0) this.noteMissing(path);
    return value;
  }

  private noteMissing(path: readonly unknown[]): void {
    this.missing.add(path.map(String).join('.').slice(0, 200));
  }

  /** The slot of a value. */
  keep(value: unknown): string {
    if (value instanceof Captured) return value.skeleton;
    this.grow(weigh(value, this.left));
    return slotText(this.values.push(value) - 1);
  }

  allows(characters: number): boolean {
    return characters <= this.left;
  }

  grow(characters: number): void {
    this.left -= characters;
    if (this.left < 0) throw new LimitError('yields too much text');
  }
}

class Sheet implements Emitter {
  buffer = '';
  private readonly running: Running;

  constructor(running: Running) {
    this.running = running;
  }

  write(text: unknown): void {
    const written = String(text ?? '');
    this.running.grow(written.length);
    this.buffer += written;
  }
}

/** What was captured is the author's own text with values in it, and stays so when it is put out unchanged. */
class Captured extends Drop {
  readonly skeleton: string;
  private readonly values: readonly unknown[];

  constructor(skeleton: string, values: readonly unknown[]) {
    super();
    this.skeleton = skeleton;
    this.values = values;
  }

  override valueOf(): string {
    return joinParts(splitSlots(this.skeleton), this.values);
  }
}

class Capture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const running = context as Running;
    const sheet = new Sheet(running);
    yield this.liquid.renderer.renderTemplates(this.templates, running, sheet);
    running.bottom()[this.variable] = new Captured(sheet.buffer, running.values);
  }
}

export const tags = '# assign break capture case comment continue echo for if liquid raw unless'.split(' ');

const operators: Operators = Object.fromEntries(
  Object.entries(defaultOperators).map(([name, operate]) => [
    name,
    (...given: unknown[]) => {
      const context = given.at(-1) as Context;
      charge(context, given.slice(0, -1));
      if (name === 'contains') chargeSearch(context, given[0], given[1]);
      return (operate as (...given: unknown[]) => ReturnType<typeof operate>)(...given);
    },
  ]),
);

const engine = new Liquid({
  strictFilters: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: templateLimits.source,
  dateFormat: '%Y-%m-%d %H:%M',
  timezoneOffset: 0,
  operators,
  outputEscape(this: { context: Context }, value: unknown) {
    return (this.context as Running).keep(value);
  },
});
for (const name of Object.keys(engine.tags)) if (!tags.includes(name)) delete engine.tags[name];
for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name);
for (const [name, filter] of Object.entries(filters)) engine.registerFilter(name, filter);
engine.registerTag('capture', Capture);

const optionsByLocale = new Map<string, typeof engine.options>();

function optionsFor(locale: string): typeof engine.options {
  let options = optionsByLocale.get(locale);
  if (!options) {
    if (optionsByLocale.size > 200) optionsByLocale.clear();
    options = { ...engine.options, locale };
    optionsByLocale.set(locale, options);
  }
  return options;
}

/** Ranges are made safe, and conditions and defaults quiet, wherever they stand; what is plain is made quick. */
function prepare(nodes: readonly Node[]): void {
  for (const node of nodes) {
    enableFastPath(node);
    const isCondition = node instanceof IfTag || node instanceof UnlessTag || node instanceof CaseTag;
    for (const argument of node.arguments?.() ?? []) {
      if (argument instanceof Value) {
        if (isCondition || argument.filters.some(({ name }) => name === 'default')) silenceMissing(argument);
        for (const token of argument.initial.postfix) fenceRange(token);
        for (const { args } of argument.filters) for (const arg of args) fenceRange(Array.isArray(arg) ? arg[1] : arg);
      } else fenceRange(argument);
    }
    if (node.children) prepare(toValueSync(node.children(false, true)) as Node[]);
  }
}

/**
 * Most of a message is text and `{{ a.variable }}`. The library walks through six generators for each of them; written out,
 * a message of two lines takes 6 µs instead of 18.
 */
function enableFastPath(node: Node): void {
  if (node.token.kind === TokenKind.HTML) {
    const text = textOf(node);
    node.render = ((_: Context, sheet: Emitter) => sheet.write(text)) as unknown as Node['render'];
  } else if (node instanceof Output) {
    const path = plainPath(node.value);
    if (!path) return;
    const render = (context: Context, sheet: Emitter) => {
      const running = context as Running;
      sheet.write(running.keep(running.look(path)));
    };
    node.render = render as unknown as Output['render'];
  }
}

function textOf(node: Node): string {
  return (node as unknown as { str: string }).str;
}

/** The path of a variable that is put out as it is; the only filter is the one that keeps it. */
function plainPath({ initial, filters }: Value): Path | undefined {
  const [token, ...more] = initial.postfix;
  if (filters.length !== 1 || more.length > 0 || token?.kind !== TokenKind.PropertyAccess) return undefined;
  const { variable, props } = token as unknown as { variable?: unknown; props: { content?: string | number }[] };
  if (variable !== undefined) return undefined;
  const path = props.map(({ content }) => content);
  return path.every(key => key !== undefined) ? (path as Path) : undefined;
}

function silenceMissing(value: Value): void {
  const evaluate = value.value.bind(value);
  value.value = function* (context, lenient) {
    const running = context as Running;
    running.quiet++;
    try {
      return yield evaluate(context, lenient);
    } finally {
      running.quiet--;
    }
  };
}

type EvaluatedToken = Parameters<typeof evalToken>[0];

/** The token becomes one that evaluates itself, by a rule that ends. */
function fenceRange(token: unknown): void {
  if (typeof token !== 'object' || token === null) return;
  const { kind, props, variable, lhs, rhs } = token as {
    kind?: TokenKind;
    props?: unknown[];
    variable?: unknown;
    lhs?: EvaluatedToken;
    rhs?: EvaluatedToken;
  };
  if (kind === TokenKind.PropertyAccess) for (const inner of [variable, ...(props ?? [])]) fenceRange(inner);
  if (kind !== TokenKind.Range) return;
  fenceRange(lhs);
  fenceRange(rhs);
  const initial = {
    *evaluate(context: Context): Generator<unknown, number[], unknown> {
      const range = safeRange(yield evalToken(lhs, context), yield evalToken(rhs, context));
      charge(context, [range]);
      return range;
    },
  };
  Object.assign(token, { kind: TokenKind.FilteredValue, initial, filters: [] });
}

function isLimit(error: unknown): boolean {
  const cause = LiquidError.is(error) ? error.originalError : error;
  return cause instanceof LimitError || cause instanceof RangeError;
}

function toTemplateError(error: unknown): TemplateError {
  if (error instanceof TemplateError) return error;
  if (error instanceof LimitError) return new TemplateError(error.message, 1, 1, error);
  if (error instanceof RangeError) return new TemplateError('is nested too deep', 1, 1, error);
  if (!LiquidError.is(error)) throw error;
  const [line = 1, column = 1] = error.token.getPosition();
  if (error.originalError instanceof RangeError) return new TemplateError('is nested too deep', line, column, error);
  return new TemplateError(inWords(error.message), line, column, error);
}

function inWords(message: string): string {
  return message
    .replace(/, line:\d+, col:\d+$/, '')
    .replace(/^undefined filter: (.*)$/s, 'there is no filter "$1"')
    .replace(/^tag "(.*)" not found$/s, 'there is no tag "$1"');
}
