/** What runs in the threads of rendering.ts: the rules of core/ by their full limits, and nothing else. */
import { parentPort } from 'node:worker_threads';
import { AppError } from '../core/errors.ts';
import { parseMarkdown } from '../core/render/markdown.ts';
import {
  type CompiledLayout,
  type CompiledMessage,
  type Content,
  checkTemplate,
  compileLayout,
  compileMessage,
  renderMessage,
} from '../core/render/render.ts';
import { TemplateError } from '../core/render/template.ts';
import type { Answer, Task } from './rendering.ts';

/** The same message is written for many recipients, one after the other. */
const mostCompiled = 4;
const compiled = new Map<string, { message: CompiledMessage; layout: CompiledLayout | undefined }>();

function compile({ content, layout }: Extract<Task, { kind: 'message' }>) {
  const key = JSON.stringify([content, layout]);
  const known = compiled.get(key);
  if (known) return known;
  const made = {
    message: compileMessage(content),
    layout: layout === undefined ? undefined : compileLayout(layout),
  };
  if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value!);
  compiled.set(key, made);
  return made;
}

function perform(task: Task): unknown {
  switch (task.kind) {
    case 'markdown':
      return parseMarkdown(task.skeleton);
    case 'templates':
      return task.sources.map(checkTemplate);
    case 'message': {
      const { message, layout } = compile(task);
      return requireSmallCard(renderMessage(message, { ...task.options, layout }));
    }
  }
}

/** In characters of JSON; Teams takes 28,000 bytes and Slack 50 blocks. Handed over, larger ones held up everybody. */
const longestCard = 100_000;

function requireSmallCard(content: Content): Content {
  if (content.card !== undefined && JSON.stringify(content.card).length > longestCard) {
    throw new AppError('template.failed', 'body: is too long for a card: shorten it, or write less for this channel');
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
    // What nobody expects ends the thread, and is told as such.
    if (!(error instanceof AppError)) throw error;
    return { failed: { code: error.code, message: error.message, fields: error.details.fields } };
  }
}

parentPort!.on('message', (task: Task) => parentPort!.postMessage(answer(task)));
parentPort!.postMessage('ready');
