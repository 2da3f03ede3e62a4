import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createLineWriter } from '../../src/lib/telemetry/line-writer.ts';

function recording() {
  const written: string[] = [];
  const writer = createLineWriter({ write: text => written.push(String(text)) > 0 });
  return { written, writer };
}

describe('the lines of the log', () => {
  test('of one turn are written at once, in order, before the next turn ends', async () => {
    const { written, writer } = recording();
    for (const line of ['a\n', 'b\n', 'c\n']) writer.write(line);
    expect(written).toEqual([]);
    await turn();
    expect(written).toEqual(['a\nb\nc\n']);
    writer.write('d\n');
    await turn();
    expect(written).toEqual(['a\nb\nc\n', 'd\n']);
  });

  test('are all written before the process ends, and only once', async () => {
    const { written, writer } = recording();
    writer.write('last words\n');
    writer.flushSync();
    expect(written).toEqual(['last words\n']);
    await turn();
    writer.flushSync();
    expect(written).toEqual(['last words\n']);
  });
});
