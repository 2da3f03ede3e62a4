/** Renders a message for one channel, and returns the error of a failing render. */
import { AppError } from '../../src/core/errors.ts';
import {
  compileMessage,
  type MessageContent,
  type RenderOptions,
  renderMessage,
} from '../../src/core/render/render.ts';

export function render(content: MessageContent | string, options: Partial<RenderOptions> = {}) {
  const message = compileMessage(typeof content === 'string' ? { body: content } : content);
  return renderMessage(message, { medium: 'inbox', channel: 'some', scope: {}, ...options });
}

export function failureOf(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('expected an error, but nothing was thrown');
}
