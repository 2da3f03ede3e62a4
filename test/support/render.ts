/** A message written for one channel, and the error where it cannot be. */
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
  throw new Error('nothing was thrown');
}
