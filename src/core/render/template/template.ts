/**
 * A restricted Liquid: only the tags and filters that messages need, no files, no prototypes, no clock, and a limit on
 * everything that a template can make grow. A run returns a skeleton and, separately, its values (template-slots.ts).
 */
import {
  CaseTag,
  type Context,
  type Emitter,
  IfTag,
  isTruthy,
  Liquid,
  LiquidError,
  type Template as Node,
  Output,
  TokenKind,
  toValueSync,
  UnlessTag,
  Value,
} from 'liquidjs';
import {
  type MeteredContext,
  type Path,
  propertyWeight,
  RenderContext,
  type RunOptions,
  SkeletonWriter,
} from './context.ts';
import { filters } from './filters.ts';
import { type Budget, InlineLimitError, LimitError, templateLimits } from './limits.ts';
import { replaceSlotCharacters, toSlot } from './slots.ts';
import { Capture, Case, For, limitRange, operators } from './tags.ts';

export interface Template {
  nodes: Node[];
  plain: PlainTemplate | undefined;
}

/** A template without tags other than `if`: its skeleton depends only on the branches that its conditions choose. */
interface PlainTemplate {
  steps: Step[];
  /** Skeletons by the chosen branches. */
  skeletons: Map<string, string>;
}

/** Text, an output, or a condition, whose last branch is the one without a condition. */
type Step = string | { path: Path } | { value: Value } | { branches: Branch[] };
interface Branch {
  condition?: Value;
  steps: Step[];
}

const maxSkeletons = 16;
/** Outputs and conditions of a plain template: they are not counted when it is filled. */
const maxPlainSteps = 100;

export interface TemplateOutput {
  skeleton: string;
  values: readonly unknown[];
}

/** A mistake in a template, or a failure while it ran, with its position. */
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
    const nodes = engine.parse(replaceSlotCharacters(source));
    prepare(nodes);
    return { nodes, plain: toPlainTemplate(nodes) };
  } catch (error) {
    throw toTemplateError(error);
  }
}

/** Compiles the template on first use. Throws a TemplateError, or InlineLimitError when compiling exceeds the budget. */
export type LazyTemplate = (inline?: Budget) => Template;

export function lazyTemplate(source: string): LazyTemplate {
  let template: Template | undefined;
  return inline => {
    if (template) return template;
    inline?.compile(source);
    template = parseTemplate(source);
    return template;
  };
}

/** Throws a TemplateError or InlineLimitError. */
export function runTemplate({ nodes, plain }: Template, options: RunOptions): TemplateOutput {
  try {
    const open = () => new RenderContext(options, engine, optionsFor(options.locale));
    const run = plain && runPlain(plain, open());
    if (run) return run;
    const context = open();
    const writer = new SkeletonWriter(context);
    toValueSync(engine.renderer.renderTemplates(nodes, context, writer));
    return { skeleton: writer.buffer, values: context.values };
  } catch (error) {
    if (options.inline && isLimitError(error)) throw new InlineLimitError();
    throw toTemplateError(error);
  }
}

/**
 * Fills a plain template without building its skeleton, which caches then compare by reference: an email in its layout takes
 * 11 µs instead of 45. Returns undefined when it fails; the regular path then reports the position.
 */
function runPlain({ steps, skeletons }: PlainTemplate, context: RenderContext): TemplateOutput | undefined {
  try {
    const chosen = storeValues(steps, context);
    let skeleton = skeletons.get(chosen);
    if (skeleton === undefined) {
      if (skeletons.size >= maxSkeletons) skeletons.clear();
      skeleton = toSkeleton(steps, chosen);
      skeletons.set(chosen, skeleton);
    }
    context.countOutput(skeleton.length);
    return { skeleton, values: context.values };
  } catch {
    return undefined;
  }
}

/** Stores the values of all outputs, and returns the chosen branches, one character each. */
function storeValues(steps: readonly Step[], context: RenderContext): string {
  let chosen = '';
  for (const step of steps) {
    if (typeof step === 'string') continue;
    if ('path' in step) context.storeValue(context.readPath(step.path));
    // Its last filter is `outputEscape`, which stores the value.
    else if ('value' in step) toValueSync(step.value.value(context));
    else {
      const isChosen = ({ condition }: Branch) =>
        !condition || isTruthy(toValueSync(condition.value(context)), context);
      const branch = step.branches.findIndex(isChosen);
      chosen += String.fromCharCode(branch) + storeValues(step.branches[branch]!.steps, context);
    }
  }
  return chosen;
}

function toSkeleton(steps: readonly Step[], chosen: string): string {
  let [conditions, slots] = [0, 0];
  const write = (some: readonly Step[]): string =>
    some
      .map(step => {
        if (typeof step === 'string') return step;
        return 'branches' in step ? write(step.branches[chosen.charCodeAt(conditions++)]!.steps) : toSlot(slots++);
      })
      .join('');
  return write(steps);
}

function toPlainTemplate(nodes: readonly Node[]): PlainTemplate | undefined {
  const steps = toSteps(nodes);
  return steps && countSteps(steps) <= maxPlainSteps ? { steps, skeletons: new Map() } : undefined;
}

function countSteps(steps: readonly Step[]): number {
  let count = 0;
  for (const step of steps) {
    if (typeof step === 'string') continue;
    count++;
    if ('branches' in step) for (const branch of step.branches) count += 1 + countSteps(branch.steps);
  }
  return count;
}

function toSteps(nodes: readonly Node[]): Step[] | undefined {
  const steps: Step[] = [];
  for (const node of nodes) {
    const step = toStep(node);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return steps;
}

function toStep(node: Node): Step | undefined {
  if (node.token.kind === TokenKind.HTML) return textOf(node);
  if (node instanceof Output) {
    const path = plainPath(node.value);
    if (path) return { path };
  }
  // One with many operands has its own `render`, which charges for them.
  if (Object.hasOwn(node, 'render')) return undefined;
  if (node instanceof Output) return { value: node.value };
  if (!(node instanceof IfTag)) return undefined;
  const branches: Branch[] = [];
  const all = [...node.branches, { value: undefined, templates: node.elseTemplates ?? [] }];
  for (const { value, templates } of all) {
    const steps = toSteps(templates);
    if (steps === undefined) return undefined;
    branches.push({ ...(value && { condition: value }), steps });
  }
  return { branches };
}

export const tags = '# assign break capture case comment continue echo for if liquid raw unless'.split(' ');

const engine = new Liquid({
  strictFilters: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: templateLimits.source,
  dateFormat: '%Y-%m-%d %H:%M',
  timezoneOffset: 0,
  operators,
  outputEscape(this: { context: Context }, value: unknown) {
    return (this.context as RenderContext).addValue(value);
  },
});
for (const name of Object.keys(engine.tags)) if (!tags.includes(name)) delete engine.tags[name];
for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name);
for (const [name, filter] of Object.entries(filters)) engine.registerFilter(name, filter);
engine.registerTag('capture', Capture);
engine.registerTag('case', Case);
engine.registerTag('for', For);

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

/** Limits ranges, allows missing variables in conditions and defaults, and enables the fast path of plain nodes. */
function prepare(nodes: readonly Node[]): void {
  for (const node of nodes) {
    enableFastPath(node);
    const isCondition = node instanceof IfTag || node instanceof UnlessTag || node instanceof CaseTag;
    let size = 0;
    for (const argument of node.arguments?.() ?? []) {
      size++;
      if (argument instanceof Value) {
        size += argument.initial.postfix.length;
        if (isCondition || argument.filters.some(({ name }) => name === 'default')) silenceMissing(argument);
        for (const token of argument.initial.postfix) limitRange(token);
        for (const { args } of argument.filters) for (const arg of args) limitRange(Array.isArray(arg) ? arg[1] : arg);
      } else limitRange(argument);
    }
    if (size > maxFreeOperands) chargeOperands(node, size);
    if (node.children) prepare(toValueSync(node.children(false, true)) as Node[]);
  }
}

/** Operands of one tag that are free: its step pays for them. */
const maxFreeOperands = 16;

/** Charges for the operands of a tag: it may list a thousand, and evaluating each takes time. */
function chargeOperands(node: Node, count: number): void {
  const render = node.render.bind(node);
  node.render = (context, emitter) => {
    (context as MeteredContext).budget.use(count * propertyWeight);
    return render(context, emitter);
  };
}

/**
 * Renders text and `{{ a.variable }}` nodes without the library's six generators per node: a message of two lines takes
 * 6 µs instead of 18.
 */
function enableFastPath(node: Node): void {
  if (node.token.kind === TokenKind.HTML) {
    const text = textOf(node);
    node.render = ((_: Context, writer: Emitter) => writer.write(text)) as unknown as Node['render'];
  } else if (node instanceof Output) {
    const path = plainPath(node.value);
    if (!path) return;
    const render = (context: Context, writer: Emitter) => {
      const rendering = context as RenderContext;
      writer.write(rendering.addValue(rendering.readPath(path)));
    };
    node.render = render as unknown as Output['render'];
  }
}

function textOf(node: Node): string {
  return (node as unknown as { str: string }).str;
}

/** Returns the path of a variable that is output as it is: its only filter is `outputEscape`, which stores the value. */
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
    const rendering = context as RenderContext;
    rendering.lenientDepth++;
    try {
      return yield evaluate(context, lenient);
    } finally {
      rendering.lenientDepth--;
    }
  };
}

function isLimitError(error: unknown): boolean {
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
  return new TemplateError(describeLiquidError(error.message), line, column, error);
}

function describeLiquidError(message: string): string {
  return message
    .replace(/, line:\d+, col:\d+$/, '')
    .replace(/^undefined filter: (.*)$/s, 'there is no filter "$1"')
    .replace(/^tag "(.*)" not found$/s, 'there is no tag "$1"');
}
