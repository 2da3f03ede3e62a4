/** The threads of rendering.ts: they render with the full limits of core/, and do nothing else. */
import { parentPort } from 'node:worker_threads';
import { AppError } from '../../core/errors.ts';
import { parseMarkdown } from '../../core/render/markdown/markdown.ts';
import {
  type CompiledLayout,
  type CompiledMessage,
  type Content,
  checkTemplate,
  compileLayout,
  compileMessage,
  renderMessage,
} from '../../core/render/render.ts';
import { TemplateError } from '../../core/render/template/template.ts';
import type { Answer, Task } from './rendering.ts';

/** Size of the cache of compiled messages: one message is usually rendered for many recipients in a row. */
const maxCompiled = 4;
const compiled = new Map<string, { message: CompiledMessage; layout: CompiledLayout | undefined }>();

function compile({ content, layout }: Extract<Task, { kind: 'message' }>) {
  const key = JSON.stringify([content, layout]);
  const cached = compiled.get(key);
  if (cached) return cached;
  const result = {
    message: compileMessage(content),
    layout: layout === undefined ? undefined : compileLayout(layout),
  };
  if (compiled.size >= maxCompiled) compiled.delete(compiled.keys().next().value!);
  compiled.set(key, result);
  return result;
}

/** Restores the scope that was passed to `toTask`. */
function scopeOf({ scope, shared }: Extract<Task, { kind: 'message' }>): Record<string, unknown> {
  const own = JSON.parse(scope) as Record<string, unknown>;
  const context = own.context as Record<string, unknown> | undefined;
  return { ...own, ...Object.fromEntries(shared.map(name => [name, context?.[name]])) };
}

function perform(task: Task): unknown {
  switch (task.kind) {
    case 'markdown':
      return parseMarkdown(task.skeleton);
    case 'templates':
      return task.sources.map(checkTemplate);
    case 'message': {
      const { message, layout } = compile(task);
      return requireSmallCard(renderMessage(message, { ...task.options, scope: scopeOf(task), layout }));
    }
  }
}

/** In characters of JSON; Teams accepts 28,000 bytes and Slack 50 blocks. Transferring larger cards blocks the event loop. */
const maxCardLength = 100_000;

function requireSmallCard(content: Content): Content {
  if (content.card !== undefined && JSON.stringify(content.card).length > maxCardLength) {
    throw new AppError('template.failed', 'body: is too long for a card: shorten it, or override it for this channel');
  }
  return content;
}

function answer(task: Task): Answer {
  try {
    return { value: perform(task) };
  } catch (error) {
    if (error instanceof TemplateError) {
      const { line, column, message } = error;
      return { template: { line, column, message } };
    }
    // An unexpected error ends the thread and is reported as a crash.
    if (!(error instanceof AppError)) throw error;
    return { failed: { code: error.code, message: error.message, fields: error.details.fields } };
  }
}

parentPort!.on('message', (task: Task) => parentPort!.postMessage(answer(task)));
parentPort!.postMessage('ready');
