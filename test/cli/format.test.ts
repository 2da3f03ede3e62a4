/** How the command line formats what it prints. */
import { describe, expect, test } from 'vitest';
import { describeChanges } from '../../src/cli/declarative-text.ts';
import { formatBytes, formatTable, formatTime, printable, printableLines } from '../../src/cli/format.ts';
import { maxLimit, readRowLimit } from '../../src/cli/rows.ts';
import type { Change } from '../../src/services/configuration/declarative/declarative.ts';

test('a time names its zone', () => {
  const { TZ } = process.env;
  const at = new Date('2026-11-18T23:30:00Z');
  const shown = ['UTC', 'Asia/Kolkata', 'America/New_York'].map(zone => {
    process.env.TZ = zone;
    return formatTime(at);
  });
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
  expect(shown).toEqual(['2026-11-18 23:30 UTC', '2026-11-19 05:00 +05:30', '2026-11-18 18:30 -05:00']);
});

test('stored text cannot control the terminal, break its line or reorder it', () => {
  const name = 'Acme\u001b[2J\u009b31m\u202eevil\u2066\u200f\u061c\r\n\u2028x';
  const shown = 'Acme\\u001b[2J\\u009b31m\\u202eevil\\u2066\\u200f\\u061c\\u000d\\u000a\\u2028x';
  expect(printable(name)).toBe(shown);
  expect(
    formatTable([
      ['NAME', 'ID'],
      [name, '1'],
    ]),
  ).toBe(`${'NAME'.padEnd(shown.length)}  ID\n${shown}  1`);
  const red = (text: string) => `\u001b[31m${text}\u001b[39m`;
  expect(printableLines(red('- user a\tb\n\u001b[8mhidden\u202e'))).toBe(red('- user a\tb\n\\u001b[8mhidden\\u202e'));
  const json = JSON.stringify({ name });
  expect(printableLines(json)).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  expect(JSON.parse(printableLines(json))).toEqual({ name });
});

test('bytes have a unit', () => {
  expect([0, 999, 3_600, 12_400_000].map(formatBytes)).toEqual(['0 bytes', '999 bytes', '3.6 KB', '12 MB']);
});

describe('a list', () => {
  const limits = { default: 20, max: 500 };

  test('says that there are more rows only if there are', () => {
    const limit = readRowLimit({}, limits);
    expect(limit.query).toEqual({ limit: '21' });
    expect(limit.take(Array(20).fill(0)).more).toBeUndefined();
    const { shown, more } = limit.take(Array(21).fill(0));
    expect([shown.length, more]).toEqual([20, '\n20 shown, there are more: add --all, or --limit N.']);
  });

  test('knows at the highest limit, too, whether a server has more rows', () => {
    const limit = readRowLimit({ limit: String(maxLimit) }, { default: 20, max: maxLimit });
    expect(limit.query).toEqual({ limit: '1000' });
    expect(limit.take(Array(1_000).fill(0)).more).toBe('\n999 shown, there are more: add --all, or --limit N.');
  });

  test('is shown in full with --all', () => {
    const limit = readRowLimit({ all: true }, limits);
    expect([limit.query, limit.take(Array(5_000).fill(0)).shown.length]).toEqual([{}, 5_000]);
    expect(() => readRowLimit({ all: true, limit: '5' }, limits)).toThrow('--limit and --all cannot be combined');
  });
});

test('many changes of one kind are counted, but all deletions are listed', () => {
  const change = (action: Change['action'], index: number): Change => ({
    action,
    noun: 'user',
    path: `acme/u${index}`,
    fields: [],
  });
  const changes = [...Array(10_000).keys()].map(index => change('create', index));
  const deletions = [...Array(30).keys()].map(index => change('delete', index));
  const lines = describeChanges([...changes, ...deletions], { isApplied: true, isColored: false }).split('\n');
  expect(lines).toHaveLength(20 + 30 + 1 + 2);
  expect(lines).toContain('+ user: 9,980 more; --json lists all');
  expect(lines.at(-1)).toBe('Applied: 10000 created, 0 changed, 30 deleted.');
});
