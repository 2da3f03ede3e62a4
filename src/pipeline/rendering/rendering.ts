/**
 * Renders messages without blocking the event loop. Most are rendered inline within small limits. Heavier ones, and Markdown
 * that is long or dense, are rendered in a thread (rendering-thread.ts) that is stopped when it takes too long. Parsed
 * Markdown is cached, so that a long newsletter needs a thread only once.
 */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { AppError, type ErrorCode, type FieldErrors } from '../../core/errors.ts';
import type { Block } from '../../core/render/markdown/markdown.ts';
import {
  type CheckTemplate,
  type CompiledMessage,
  type Content,
  checkTemplate,
  choose,
  type MessageContent,
  type RenderOptions,
  renderMessage,
} from '../../core/render/render.ts';
import { compileCost, InlineLimitError, inlineLimits } from '../../core/render/template/limits.ts';
import { TemplateError } from '../../core/render/template/template.ts';
import { EventLoopShare } from '../../lib/load/slices.ts';
import { ThreadPool, ThreadStoppedError, ThreadsBusyError } from '../../lib/load/thread-pool.ts';

/** A request to a thread. */
export type Task =
  | { kind: 'markdown'; skeleton: string }
  | (Sources & {
      kind: 'message';
      options: Omit<RenderOptions, 'scope' | 'layout'>;
      /** JSON without the keys in `shared`, which are taken from its `context`. */
      scope: string;
      shared: string[];
    })
  | { kind: 'templates'; sources: string[] };

/** The response of a thread. Errors are converted, because classes do not survive the transfer. */
export type Answer =
  | { value: unknown }
  | { template: { line: number; column: number; message: string } }
  | { failed: { code: ErrorCode; message: string; fields: FieldErrors | undefined } };

/** The sources that a message is compiled from. */
export interface Sources {
  content: MessageContent;
  /** Undefined for the default layout. */
  layout: string | undefined;
}

/** The limit of CPU time for a message or Markdown; legitimate ones take a tenth of it. */
const defaultCpuMs = 2_000;
const memoryMb = 128;
const maxWaiting = 1_000;
/** How long Markdown that timed out is not parsed again, because each of its recipients would occupy a thread. */
const retryAfterMs = 60_000;
const maxFailed = 100;

export class Rendering {
  readonly #threads: ThreadPool;
  readonly #turn = new EventLoopShare();
  /** Markdown being parsed, by skeleton. */
  readonly #reading = new Map<string, Promise<Block[]>>();
  /** Markdown that failed to parse in time, by skeleton. */
  readonly #unreadable = new Map<string, { until: number; error: TemplateError }>();

  constructor(log: Pick<Logger, 'warn'>, cpuMs = defaultCpuMs) {
    this.#threads = new ThreadPool({
      file: new URL('./rendering-thread.ts', import.meta.url),
      threads: Math.max(2, Math.min(4, availableParallelism() - 1)),
      cpuMs,
      memoryMb,
      maxWaiting,
      onStopped: ({ reason, message }, owner) => log.warn({ owner, reason }, `a template was stopped: it ${message}`),
    });
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  /** Throws the same errors as `renderMessage`. `sources` is called only for messages too heavy to render inline. */
  async render(
    organizationId: number,
    message: CompiledMessage,
    sources: () => Sources,
    options: RenderOptions,
    /** Called right before rendering inline. */
    mark?: () => void,
  ): Promise<Content> {
    const inline: RenderOptions = { ...options, inline: true };
    let heavy: string | undefined;
    try {
      return await this.#renderHere(message, inline, mark);
    } catch (error) {
      if (!(error instanceof InlineLimitError)) throw error;
      heavy = error.skeleton;
    }
    if (heavy !== undefined) {
      const { body } = choose(message, options);
      const blocks = await this.#readMarkdown(organizationId, heavy).catch(error => {
        throw error instanceof TemplateError ? toFailure(body.field, error) : error;
      });
      body.readMarkdown.set(heavy, blocks);
      try {
        return await this.#renderHere(message, { ...inline, markdown: { skeleton: heavy, blocks } }, mark);
      } catch (error) {
        if (!(error instanceof InlineLimitError)) throw error;
      }
    }
    try {
      return await this.#run<Content>(organizationId, toTask(sources(), options));
    } catch (error) {
      throw error instanceof ThreadStoppedError
        ? new AppError('template.failed', describeStop(error), { cause: error })
        : error;
    }
  }

  async #renderHere(message: CompiledMessage, options: RenderOptions, mark?: () => void): Promise<Content> {
    if (this.#turn.isSpent) await this.#turn.next();
    const start = performance.now();
    mark?.();
    try {
      return renderMessage(message, options);
    } finally {
      this.#turn.spend(performance.now() - start);
    }
  }

  /** Returns a check for templates among these texts. If compiling them is expensive, they are checked in a thread beforehand. */
  async createChecker(owner: number | string, texts: readonly string[]): Promise<CheckTemplate> {
    const sources = [...new Set(texts)];
    const cost = sources.reduce((sum, source) => sum + compileCost(source), 0);
    if (cost <= inlineLimits.tags) return checkTemplate;
    type Mistake = ReturnType<CheckTemplate>;
    const checked = new Map<string, Mistake>();
    // Split into parts, because the deadline applies to each part.
    for (const part of splitIntoParts(sources)) {
      const found = await this.#run<Mistake[]>(owner, { kind: 'templates', sources: part }).catch(error => {
        if (!(error instanceof ThreadStoppedError)) throw error;
        return part.map((): Mistake => ({ line: 1, column: 1, message: describeStop(error) }));
      });
      for (const [i, source] of part.entries()) checked.set(source, found[i]);
    }
    return source => (checked.has(source) ? checked.get(source) : checkTemplate(source));
  }

  /** Throws a TemplateError. */
  async #readMarkdown(organizationId: number, skeleton: string): Promise<Block[]> {
    const failed = this.#unreadable.get(skeleton);
    if (failed && failed.until > performance.now()) throw failed.error;
    const inProgress = this.#reading.get(skeleton);
    if (inProgress) return inProgress;
    const reading = this.#run<Block[]>(organizationId, { kind: 'markdown', skeleton })
      .catch(error => {
        if (!(error instanceof ThreadStoppedError)) throw error;
        const failure = new TemplateError(`${describeStop(error)} as Markdown`, 1, 1, error);
        if (this.#unreadable.size >= maxFailed) this.#unreadable.clear();
        this.#unreadable.set(skeleton, { until: performance.now() + retryAfterMs, error: failure });
        throw failure;
      })
      .finally(() => this.#reading.delete(skeleton));
    this.#reading.set(skeleton, reading);
    return reading;
  }

  async #run<Value>(owner: number | string, task: Task): Promise<Value> {
    const answer = await this.#threads.run<Answer>(String(owner), task).catch(error => {
      // Not the fault of the template: nothing is concluded about it.
      throw error instanceof ThreadStoppedError && error.reason === 'overload'
        ? new ThreadsBusyError(error.message)
        : error;
    });
    if ('value' in answer) return answer.value as Value;
    if ('template' in answer) {
      const { message, line, column } = answer.template;
      throw new TemplateError(message, line, column, undefined);
    }
    const { code, message, fields } = answer.failed;
    throw new AppError(code, message, fields ? { fields } : {});
  }
}

/**
 * Passes the scope as JSON, which is five times faster than a structured clone. The keys of the trigger's context are in
 * the scope twice, at the top level and in `context`, and are serialized once.
 */
export function toTask(sources: Sources, { layout: _, scope, ...options }: RenderOptions): Task {
  const context = scope.context as Record<string, unknown> | null | undefined;
  const isShared = (name: string) => context?.[name] === scope[name] && name !== 'context';
  const own = Object.fromEntries(Object.entries(scope).filter(([name]) => !isShared(name)));
  const shared = Object.keys(scope).filter(isShared);
  return { kind: 'message', ...sources, options, scope: JSON.stringify(own), shared };
}

/** Creates the same error as `renderMessage`. */
function toFailure(field: string, { line, column, message, cause }: TemplateError): AppError {
  const located = `line ${line}, column ${column}: ${message}`;
  return new AppError('template.failed', `${field}, ${located}`, { fields: { [field]: [located] }, cause });
}

function describeStop({ message, reason }: ThreadStoppedError): string {
  return reason === 'crash' ? 'could not be parsed' : `${message} to process`;
}

const partSize = 100_000;

function splitIntoParts(sources: readonly string[]): string[][] {
  const parts: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const source of sources) {
    if (size + source.length > partSize) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)!.push(source);
    size += source.length;
  }
  return parts;
}
