/**
 * Writes messages without holding anybody up. Most are written at once, by limits so small that nobody notices; what goes
 * beyond them, and Markdown that is long or thick with signs, is done in a thread (rendering-thread.ts) that is stopped
 * when it takes too long. What came of Markdown is remembered here, so a long newsletter costs a thread once and then no
 * more than any other message.
 */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { AppError, type ErrorCode, type FieldErrors } from '../core/errors.ts';
import type { Block } from '../core/render/markdown.ts';
import {
  type CheckTemplate,
  type CompiledMessage,
  type Content,
  checkTemplate,
  choose,
  type MessageContent,
  type RenderOptions,
  renderMessage,
} from '../core/render/render.ts';
import { TemplateError } from '../core/render/template.ts';
import { inlineLimits, TooHeavy, tagCharacters } from '../core/render/template-limits.ts';
import { EventLoopShare } from '../lib/slices.ts';
import { ThreadPool, ThreadStopped } from '../lib/thread-pool.ts';

/** What a thread is asked. */
export type Task =
  | { kind: 'markdown'; skeleton: string }
  | { kind: 'message'; content: MessageContent; layout: string | undefined; options: RenderOptions }
  | { kind: 'templates'; sources: string[] };

/** What it answers: errors do not cross threads as what they are. */
export type Answer =
  | { value: unknown }
  | { template: { line: number; column: number; message: string } }
  | { failed: { code: ErrorCode; message: string; fields: FieldErrors | undefined } };

/** What a message is compiled from. */
export interface Sources {
  content: MessageContent;
  /** Undefined: the usual one. */
  layout: string | undefined;
}

/** For messages and Markdown: honest ones take a tenth of it. */
const usualDeadlineMs = 2_000;
const memoryMb = 128;
const mostWaiting = 1_000;
/** For how long what could not be read in time is not tried again: else each recipient of it would cost a thread. */
const restMs = 60_000;
const mostFailed = 100;

export class Rendering {
  readonly #threads: ThreadPool;
  readonly #turn = new EventLoopShare();
  /** By skeleton: what is being read now. */
  readonly #reading = new Map<string, Promise<Block[]>>();
  /** By skeleton: until when it counts as unreadable. */
  readonly #unreadable = new Map<string, { until: number; error: TemplateError }>();

  constructor(log: Pick<Logger, 'warn'>, deadlineMs = usualDeadlineMs) {
    this.#threads = new ThreadPool({
      file: new URL('./rendering-thread.ts', import.meta.url),
      threads: Math.max(2, Math.min(4, availableParallelism() - 1)),
      deadlineMs,
      memoryMb,
      mostWaiting,
      onStopped: ({ reason, message }, owner) => log.warn({ owner, reason }, `a template was stopped: it ${message}`),
    });
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  /** Throws as `renderMessage` does. `sources` is asked for only what is too heavy to be written here. */
  async render(
    organizationId: number,
    message: CompiledMessage,
    sources: () => Sources,
    options: RenderOptions,
    /** Called right before anything is written here. */
    mark?: () => void,
  ): Promise<Content> {
    const inline: RenderOptions = { ...options, inline: true };
    let heavy: string | undefined;
    try {
      return await this.#renderHere(message, inline, mark);
    } catch (error) {
      if (!(error instanceof TooHeavy)) throw error;
      heavy = error.skeleton;
    }
    if (heavy !== undefined) {
      const { body } = choose(message, options);
      const blocks = await this.#readMarkdown(organizationId, heavy).catch(error => {
        throw error instanceof TemplateError ? toFailure(body.field, error) : error;
      });
      body.readMarkdown.keep(heavy, blocks);
      try {
        return await this.#renderHere(message, { ...inline, markdown: { skeleton: heavy, blocks } }, mark);
      } catch (error) {
        if (!(error instanceof TooHeavy)) throw error;
      }
    }
    const { layout: _, ...others } = options;
    try {
      return await this.#run<Content>(organizationId, { kind: 'message', ...sources(), options: others });
    } catch (error) {
      throw error instanceof ThreadStopped ? new AppError('template.failed', tooLong(error), { cause: error }) : error;
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

  /** A check of the templates among these texts that takes no time: where there is much to compile, it is done before. */
  async checkerOf(owner: number | string, texts: readonly string[]): Promise<CheckTemplate> {
    const sources = [...new Set(texts)].filter(text => tagCharacters(text) > 0);
    const size = sources.reduce((sum, source) => sum + tagCharacters(source), 0);
    if (size <= inlineLimits.tags) return checkTemplate;
    type Mistake = ReturnType<CheckTemplate>;
    const known = new Map<string, Mistake>();
    // A few at a time: each has the deadline to itself.
    for (const part of inParts(sources)) {
      const found = await this.#run<Mistake[]>(owner, { kind: 'templates', sources: part }).catch(error => {
        if (!(error instanceof ThreadStopped)) throw error;
        return part.map((): Mistake => ({ line: 1, column: 1, message: tooLong(error) }));
      });
      for (const [i, source] of part.entries()) known.set(source, found[i]);
    }
    return source => (known.has(source) ? known.get(source) : checkTemplate(source));
  }

  /** Throws a TemplateError. */
  async #readMarkdown(organizationId: number, skeleton: string): Promise<Block[]> {
    const failed = this.#unreadable.get(skeleton);
    if (failed && failed.until > Date.now()) throw failed.error;
    const known = this.#reading.get(skeleton);
    if (known) return known;
    const reading = this.#run<Block[]>(organizationId, { kind: 'markdown', skeleton })
      .catch(error => {
        if (!(error instanceof ThreadStopped)) throw error;
        const told = new TemplateError(`${tooLong(error)} as Markdown`, 1, 1, error);
        if (this.#unreadable.size >= mostFailed) this.#unreadable.clear();
        this.#unreadable.set(skeleton, { until: Date.now() + restMs, error: told });
        throw told;
      })
      .finally(() => this.#reading.delete(skeleton));
    this.#reading.set(skeleton, reading);
    return reading;
  }

  async #run<Value>(owner: number | string, task: Task): Promise<Value> {
    const answer = await this.#threads.run<Answer>(String(owner), task);
    if ('value' in answer) return answer.value as Value;
    if ('template' in answer) {
      const { message, line, column } = answer.template;
      throw new TemplateError(message, line, column, undefined);
    }
    const { code, message, fields } = answer.failed;
    throw new AppError(code, message, fields ? { fields } : {});
  }
}

/** As `renderMessage` tells it. */
function toFailure(field: string, { line, column, message, cause }: TemplateError): AppError {
  const place = `line ${line}, column ${column}: ${message}`;
  return new AppError('template.failed', `${field}, ${place}`, { fields: { [field]: [place] }, cause });
}

function tooLong({ message, reason }: ThreadStopped): string {
  return reason === 'crash' ? 'could not be read' : `${message} to read`;
}

const partSize = 100_000;

function inParts(sources: readonly string[]): string[][] {
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
