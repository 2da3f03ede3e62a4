/**
 * No message blocks a shared thread, whatever its templates and its context are. Messages are generated at random from all
 * filters, tags and operators, and rendered under the inline limits. The CPU time of this thread is measured, so that the
 * load of the machine does not matter.
 *
 * RENDER_BUDGET_SECONDS is how long to search at random. Without it, the same messages are tried for 15 s.
 *
 * @module-tag sweep
 */

import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { media } from '../../src/core/configuration/nouns/schemas.ts';
import { parseMarkdown } from '../../src/core/render/markdown/markdown.ts';
import { checkTemplate, compileLayout, compileMessage, renderMessage } from '../../src/core/render/render.ts';
import { filters } from '../../src/core/render/template/filters.ts';
import { compileCost, InlineLimitError, inlineLimits } from '../../src/core/render/template/limits.ts';
import { operators } from '../../src/core/render/template/tags.ts';
import { tags } from '../../src/core/render/template/template.ts';
import { toTask } from '../../src/pipeline/rendering/rendering.ts';
import { costOf, isTooSlow } from '../support/cpu-time.ts';
import { type HostileMessage, hostileMessages } from '../support/hostile-templates.ts';

const search = process.env.RENDER_BUDGET_SECONDS;
const seconds = Number(search ?? 15);
const attempts = 4;
/** Longer Markdown would take more time than this test has. */
const maxMarkdown = 5_000;

/** Does what `Rendering` does with a message on the calling thread, and returns the time of each step. */
function measure({ content, layout, medium, scope }: HostileMessage): Record<string, number> {
  const pieces: Record<string, number> = {};
  const texts = [content.body, content.subject ?? '', layout ?? ''];
  pieces.check = costOf(() => {
    const cost = texts.reduce((sum, text) => sum + compileCost(text), 0);
    if (cost <= inlineLimits.tags) for (const text of texts) checkTemplate(text);
  });
  const message = compileMessage(content, 'checked');
  const compiledLayout = layout === undefined ? undefined : compileLayout(layout, 'checked');
  const options = { medium, channel: 'x', scope, layout: compiledLayout, inline: true };
  let heavy: InlineLimitError | undefined;
  const render = (more = {}) => {
    heavy = undefined;
    try {
      renderMessage(message, { ...options, ...more });
    } catch (error) {
      // A refused message costs as much.
      if (error instanceof InlineLimitError) heavy = error;
    }
  };
  pieces.render = costOf(() => render());
  const skeleton = heavy?.skeleton;
  if (skeleton !== undefined && skeleton.length <= maxMarkdown) {
    const blocks = parseMarkdown(skeleton);
    pieces['render read Markdown'] = costOf(() => render({ markdown: { skeleton, blocks } }));
  }
  if (heavy) {
    const { port1 } = new MessageChannel();
    // A scope contains the context twice.
    const handed = { ...options, scope: { ...scope, context: scope } };
    pieces['hand over'] = costOf(() => port1.postMessage(toTask({ content, layout }, handed)));
    port1.close();
  }
  return pieces;
}

/** Returns the steps that are too slow every time: the JIT compiler and garbage collection slow one down now and then. */
function findLong(message: HostileMessage): Record<string, number> {
  let long: Record<string, number> = {};
  for (let i = 0; i < attempts; i++) {
    const pieces = measure(message);
    const again = Object.entries(pieces).filter(([name, ms]) => isTooSlow(ms) && (i === 0 || name in long));
    long = Object.fromEntries(again.map(([name, ms]) => [name, Math.min(ms, long[name] ?? ms)]));
    if (again.length === 0) break;
  }
  return long;
}

describe('rendering on a shared thread', () => {
  const language = { filters: Object.keys(filters), tags, operators: Object.keys(operators) };

  test('takes at most 50 ms of CPU time for any message', { timeout: (seconds + 60) * 1_000 }, () => {
    fc.assert(
      fc.property(hostileMessages(language, media), message => {
        expect(findLong(message)).toEqual({});
      }),
      { ...(!search && { seed: 1 }), numRuns: 1_000_000, interruptAfterTimeLimit: seconds * 1_000 },
    );
  });
});
