/** How benchmarks are judged, kept and shown. That they run is seen by `npm run bench -- --quick`. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { chart } from '../../bench/chart.ts';
import { addToHistory, type Entry, type History, lastOfEach, rounded, tightest } from '../../bench/history.ts';
import { writePage } from '../../bench/page.ts';
import { files, scenarios } from '../../bench/run.ts';
import { judge, quantile, type Row } from '../../bench/scenario.ts';
import { writeSizing } from '../../bench/sizing.ts';
import { terminalTable, wrap } from '../../bench/terminal.ts';
import { root } from '../support/process.ts';

const row = (value: number, limit?: Row['limit'], baseline?: number): Row => ({
  measure: 'walking',
  value,
  unit: 'steps/s',
  ...(limit && { limit }),
  ...(baseline !== undefined && { baseline }),
});

function entry(scenario: string, at: string, rows = [row(5, { of: 'value', max: 10 })]): Entry {
  const common = { seconds: 3, load: 0.1, machine: '2 × cores', versions: { Belfry: '1' }, settings: { fsync: 'on' } };
  return { scenario, at, ...common, rows };
}

describe('judging', () => {
  test.each<[string, Row, boolean, number | undefined]>([
    ['what nothing is promised of', row(5), true, undefined],
    ['less than the most', row(5, { of: 'value', max: 10 }), true, 0.5],
    ['just the most', row(10, { of: 'value', max: 10 }), true, 1],
    ['more than the most', row(20, { of: 'value', max: 10 }), false, 2],
    ['more than the least', row(20, { of: 'value', min: 10 }), true, 0.5],
    ['less than the least', row(5, { of: 'value', min: 10 }), false, 2],
    ['outside of both, by the worse', row(5, { of: 'value', min: 10, max: 50 }), false, 2],
    ['a ratio that is enough', row(80, { of: 'ratio', min: 0.5 }, 100), true, 0.625],
    ['a ratio that is too small', row(25, { of: 'ratio', min: 0.5 }, 100), false, 2],
    ['a ratio to nothing', row(25, { of: 'ratio', min: 0.5 }, 0), false, undefined],
    ['a ratio without a baseline', row(25, { of: 'ratio', min: 0.5 }), false, undefined],
    ['nothing where nothing may be', row(0, { of: 'value', max: 0 }), true, 0],
    ['something where nothing may be', row(1, { of: 'value', max: 0 }), false, Number.POSITIVE_INFINITY],
    ['what shrank instead of growing', row(-3, { of: 'value', max: 10 }), true, 0],
    ['nothing where something must be', row(0, { of: 'value', min: 5 }), false, Number.POSITIVE_INFINITY],
  ])('%s', (_, given, pass, used) => {
    const judged = judge(given);
    expect([judged.pass, judged.used]).toEqual([pass, used]);
  });

  test('prints the ratio to the baseline', () => {
    expect(judge(row(30, undefined, 40)).ratio).toBe(0.75);
    expect(judge(row(30))).not.toHaveProperty('ratio');
  });

  test('a quantile is a value that was measured', () => {
    const values = [5, 1, 4, 2, 3, 6, 10, 8, 7, 9];
    expect([0, 0.5, 0.9, 0.91, 1].map(part => quantile(values, part))).toEqual([1, 5, 9, 10, 10]);
    expect(quantile([7], 0.99)).toBe(7);
    expect(quantile([], 0.5)).toBeNaN();
    expect(values[0], 'left as they were').toBe(5);
  });
});

describe('the history', () => {
  const day = (n: number) => `2026-01-${String(n).padStart(2, '0')}T00:00:00.000Z`;

  test('has the last twenty runs of each scenario, in the order of the scenarios and of time', () => {
    const before: History = { entries: Array.from({ length: 20 }, (_, i) => entry('walk', day(i + 1))) };
    const { entries } = addToHistory(before, [entry('run', day(2)), entry('walk', day(25))], ['run', 'walk']);
    expect(entries.map(({ scenario }) => scenario)).toEqual(['run', ...Array(20).fill('walk')]);
    expect([entries[1]!.at, entries.at(-1)!.at]).toEqual([day(2), day(25)]);
    expect(lastOfEach({ entries }).map(({ scenario, at }) => [scenario, at])).toEqual([
      ['run', day(2)],
      ['walk', day(25)],
    ]);
  });

  test('keeps scenarios that were not run, and those that there are no longer', () => {
    const before: History = { entries: [entry('crawl', day(1)), entry('gone', day(1))] };
    const { entries } = addToHistory(before, [entry('walk', day(2))], ['walk', 'crawl']);
    expect(entries.map(({ scenario }) => scenario)).toEqual(['walk', 'crawl', 'gone']);
  });

  test('is rounded', () => {
    expect(rounded(row(123_456.7, undefined, 0.000123456))).toEqual(row(123_500, undefined, 0.0001235));
  });

  test('knows what is nearest to its limit', () => {
    const rows = [row(5, { of: 'value', max: 10 }), row(30, { of: 'ratio', min: 0.5 }, 40), row(1_000)];
    expect(tightest(entry('walk', day(1), rows))?.ratio).toBe(0.75);
    expect(tightest(entry('walk', day(1), [row(5)]))).toBeUndefined();
    const unknown = row(5, { of: 'ratio', min: 0.5 });
    expect(tightest(entry('walk', day(1), [...rows, unknown]))?.used).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the page', () => {
  const page = [
    'Words before.',
    '<!-- figures: written by npm run bench -->',
    'old',
    '<!-- end of figures -->',
    'Words between.',
    '<!-- machine: written by npm run bench -->',
    '<!-- end of machine -->',
    'Words after.',
  ].join('\n');
  const history: History = {
    entries: [
      entry('walk', '2026-01-01T00:00:00.000Z', [row(9)]),
      entry('walk', '2026-01-02T00:00:00.000Z', [
        row(12_345, { of: 'ratio', min: 0.5 }, 20_000),
        { ...row(2, { of: 'value', max: 1 }), measure: 'a | b' },
      ]),
    ],
  };

  test('has the last run between its marks, and the words around them as they were', () => {
    expect(writePage(page, history)).toBe(`Words before.
<!-- figures: written by npm run bench -->

| scenario | measured | Belfry | baseline | ratio | limit | verdict |
| --- | --- | ---: | ---: | ---: | --- | --- |
| [\`walk\`](#walk) | walking | 12,350 steps/s | 20,000 | 0.62 | ratio ≥ 0.5 | met |
|  | a \\| b | 2 steps/s |  |  | ≤ 1 steps/s | **missed** |

<!-- end of figures -->
Words between.
<!-- machine: written by npm run bench -->

- 2 × cores; Belfry 1; fsync on: \`walk\` (2026-01-02, load 0.1)

<!-- end of machine -->
Words after.`);
  });

  test('is the same when it is written again', () => {
    const once = writePage(page, history);
    expect(writePage(once, history)).toBe(once);
  });

  test('is not written when a mark is lost', () => {
    expect(() => writePage(page.replace('<!-- end of figures -->', ''), history)).toThrow('lost its markers');
  });

  test('has a chart that a name cannot break', () => {
    const svg = chart({ entries: [entry('<b> & co', '2026-01-02T00:00:00.000Z')] });
    expect(svg).toContain('&lt;b&gt; &amp; co');
    expect(svg).toContain('>50 %</text>');
    expect(chart(history)).toContain('→ 200 %');
  });

  test('in the repository agrees with its history, and so do the chart and the guide', async () => {
    const [text, json, svg] = await Promise.all(
      [files.page, files.history, files.chart].map(file => readFile(file, 'utf8')),
    );
    const kept = JSON.parse(json!) as History;
    expect(text, 'the generated parts are not edited by hand').toBe(writePage(text!, kept));
    expect(svg).toBe(chart(kept));
    const sizing = await readFile(files.sizing, 'utf8');
    expect(sizing, 'the costs of the guide are those of the last run').toBe(writeSizing(sizing, kept));
  });

  test.each(scenarios.map(({ name }) => name))('in the repository says what %s does', async name => {
    expect(await readFile(files.page, 'utf8')).toMatch(new RegExp(`^### ${name}\n\n\\S.+`, 'm'));
  });
});

describe('in the terminal', () => {
  const measure = 'a measure of which there is so much to say that it does not fit into one line of a terminal';
  const rows = [judge({ ...row(123_456, { of: 'ratio', min: 0.5 }, 200_000), measure }), judge(row(3))];

  test.each([80, 100])('a table fits into %i columns', width => {
    const lines = terminalTable([{ scenario: 'walk', rows }], { width }).split('\n');
    expect(lines.filter(line => line.length > width)).toEqual([]);
    expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain('ratio ≥ 0.5 met');
    expect(lines).toContain('walk');
  });

  test('times of a quick run have no verdict', () => {
    expect(terminalTable([{ scenario: 'walk', rows }], { judged: false })).not.toMatch(/met|MISSED/);
  });

  test('words are wrapped, and one that is too long stays whole', () => {
    expect(wrap('one two three incomprehensibilities', 9)).toEqual(['one two', 'three', 'incomprehensibilities']);
  });
});

describe('the command', () => {
  const bench = async (...args: string[]) => {
    try {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [
        path.join(root, 'bench/run.ts'),
        ...args,
      ]);
      return { code: 0, stdout, stderr };
    } catch (error) {
      return error as { code: number; stdout: string; stderr: string };
    }
  };

  test('lists the scenarios with an example', { tags: ['sweep'] }, async () => {
    const { code, stdout } = await bench('--help');
    expect(code).toBe(0);
    for (const { name } of scenarios) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
    expect(stdout).toContain('Example: npm run bench -- --quick');
  });

  test.each([
    [['--quik'], "Unknown option '--quik'"],
    [['--quick=yes'], 'does not take an argument'],
    [['idle', 'idel'], 'unknown scenario idel'],
  ])('refuses %j', { tags: ['sweep'] }, async (args, words) => {
    const { code, stderr, stdout } = await bench(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(words);
    expect(stderr).toContain('see npm run bench -- --help');
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
