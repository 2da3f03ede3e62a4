/**
 * No value can change the structure of a message, and every template ends.
 *
 * @module-tag sweep
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AppError } from '../../src/core/errors.ts';
import { compileMessage, renderMessage } from '../../src/core/render/render.ts';

/** CPU time of this thread, which does not depend on the load of the machine. */
const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

const body = `# {{ v }} head

Hi {{ v }}, **{{ v }}** _{{ v }}_ ~~{{ v }}~~ \`{{ v }}\` a{{ v }}b
{{ v }}

{{ v }}

- {{ v }}
- [{{ v }}](https://a.test/{{ v }}?q={{ v }}#{{ v }}) ![{{ v }}](https://a.test/{{ v }}.png)

| {{ v }} | b |
|---|---|
| {{ v }} | \`{{ v }}\` |

> {{ v }}

**[{{ v }}](https://a.test/{{ v }})**

\`\`\`
{{ v }}
\`\`\`

End.
`;
const message = compileMessage({
  subject: 'S {{ v }}',
  body,
  overrides: { json: { body: '{"a": "x{{ v }}y", "b": {{ v }}, "c": [{{ v | json }}], "{{ v }}": "{{ v | json }}"}' } },
});
const write = (medium: string, v: unknown, channel = 'x') => renderMessage(message, { medium, channel, scope: { v } });

const signs = [
  ...[
    '**',
    '*',
    '_',
    '~~',
    '`',
    '```',
    '|',
    '\n',
    '\r\n',
    '\n\n',
    '# ',
    '> ',
    '- ',
    '1. ',
    '---',
    '\\',
    '](',
    '[',
    '![',
  ],
  ...[
    '<b>',
    '</td>',
    '<script>',
    '<!--',
    '-->',
    '"',
    "'",
    '" onload="x',
    '&lt;',
    '&',
    ';',
    'javascript:',
    'https://e.test',
  ],
  ...[
    '{{ v }}',
    '{% raw %}',
    '\u115f\ufdd0\u1160',
    '\ufdd0',
    '\u0000',
    '\u001b',
    '\u2028',
    '\ud83d',
    '🔔',
    'é',
    ' ',
    '\t',
    'x',
  ],
  ...['<@U1>', '<!channel>', '@everyone', ':smile:', '||', '{"a":1}', '","z":"', '../', '?', '#', '%', '/'],
];
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }).map(text => `${text}x`),
  fc.array(fc.constantFrom(...signs), { minLength: 1, maxLength: 12 }).map(parts => `${parts.join('')}x`),
);

/** Returns the elements with the names of their attributes, in order; without <br>, as line ends in values become one. */
function shapeOf(html: string): string[] {
  const tags = html.match(/<[^>]*>/g) ?? [];
  return tags.filter(tag => tag !== '<br>').map(tag => tag.replace(/="[^"]*"/g, '='));
}

describe('a hostile value', () => {
  const check = (property: (value: string) => void) => fc.assert(fc.property(hostile, property), { numRuns: 300 });
  const usual = Object.fromEntries(
    ['email', 'slack', 'discord', 'telegram', 'teams'].map(medium => [medium, write(medium, 'x')]),
  );

  it('adds no element and no attribute to an email or to Telegram, and ends none', () => {
    check(value => {
      expect(shapeOf(write('email', value).html!)).toEqual(shapeOf(usual.email!.html!));
      expect(shapeOf(write('telegram', value).markup!)).toEqual(shapeOf(usual.telegram!.markup!));
    });
  });

  it('cannot change the destination of a link', () => {
    check(value => {
      for (const [, url] of write('email', value).html!.matchAll(/(?:href|src)="([^"]*)"/g)) {
        expect(new URL(url!.replaceAll('&amp;', '&')).host).toBe('a.test');
        expect(url).toMatch(/^[\x21-\x7e]+$/);
      }
    });
  });

  it('adds no link, mention or entity to Slack', () => {
    const frame = (markup: string) => markup.match(/<[^|>]*[|>]|[<>]/g)?.map(found => found.slice(0, 16));
    check(value => {
      const { markup } = write('slack', value);
      const quotes = markup!.replace(/^> /gm, '');
      expect(frame(quotes)).toEqual(frame(usual.slack!.markup!.replace(/^> /gm, '')));
      expect(quotes.replace(/&(amp|lt|gt);/g, '')).not.toMatch(/&(?!amp)/);
    });
  });

  it('appears unchanged in the runs of cards and blocks, and adds none', () => {
    const shape = (card: unknown): unknown =>
      JSON.parse(JSON.stringify(card, (key, field) => (['text', 'title', 'url'].includes(key) ? '' : field)));
    check(value => {
      expect(shape(write('teams', value).card)).toEqual(shape(usual.teams!.card));
      expect(shape(write('slack', value).card)).toEqual(shape(usual.slack!.card));
    });
  });

  it('is never read as markup by Discord', () => {
    check(value => {
      const only = renderMessage(compileMessage({ body: 'a {{ v }} z' }), {
        medium: 'discord',
        channel: 'x',
        scope: { v: value },
      });
      const unescaped = only.markup!.replace(/\\[^A-Za-z0-9\s]/g, 'e').replace(/https?:\/\/\S+/g, '');
      expect(unescaped).not.toMatch(/[*_~`|<>[\]]/);
      expect(unescaped).not.toMatch(/^[ \t]*([#+-]|\d+[.)])/m);
    });
  });

  it('leaves the title one line without control characters', () => {
    check(value => {
      const { title } = write('email', value);
      expect(title).toMatch(/^S/);
      expect(title).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(title.isWellFormed()).toBe(true);
    });
  });

  it('is unchanged in the JSON of a webhook', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.jsonValue({ maxDepth: 3 })), value => {
        // It is used as a key too, and would replace one of the others.
        fc.pre(!['a', 'b', 'c'].includes(JSON.stringify(value).replaceAll(/[[\]"]/g, '')));
        const { data } = write('webhook', value, 'json') as unknown as { data: Record<string, unknown> };
        const same = JSON.parse(JSON.stringify(value));
        expect(data.b).toEqual(same);
        expect(data.c).toEqual([same]);
        if (typeof value === 'string') {
          expect(data.a).toBe(`x${value}y`);
          expect(data[value]).toBe(JSON.stringify(value));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is unchanged in plain text', () => {
    const only = compileMessage({ body: 'a {{ v }} z' });
    check(value => {
      const { text } = renderMessage(only, { medium: 'inbox', channel: 'x', scope: { v: value } });
      const clean = value
        .toWellFormed()
        .replace(/\r\n?/g, '\n')
        .replace(/[^\P{Cc}\n\t]/gu, '');
      expect(text).toBe(`a ${clean} z`);
    });
  });

  it('cannot forge a slot, and neither can the template’s author', () => {
    const forged = compileMessage({ body: '\u115f\ufdd0\u1160 {{ a }} {{ b }}' });
    const scope = { a: '\u115f\ufdd1\u1160', b: 'secret' };
    const { text } = renderMessage(forged, { medium: 'inbox', channel: 'x', scope });
    expect(text).toBe('\u115f\ufffd\u1160 \u115f\ufdd1\u1160 secret');
  });
});

describe('an excessive template', () => {
  const many = Array.from({ length: 100_000 }, (_, i) => i);
  const context = { many, same: [...many], rows: many.map(x => ({ x })), text: 'a '.repeat(100_000) };
  const loop = (inner: string) => `{% for i in (1..10000) %}{% for j in (1..10000) %}${inner}{% endfor %}{% endfor %}`;

  it.each([
    ['an empty loop in a loop', loop('')],
    ['a loop in a loop that writes', loop('x')],
    ['a range past the last whole number', '{% for i in (9007199254740992..9007199254740994) %}{% endfor %}'],
    ['such a range as an index', '{{ many[(9007199254740992..9007199254740994)] }}'],
    ['such a range as a property', '{{ rows | where: "x[(9007199254740992..9007199254740994)]" }}'],
    ['such a range from the context', '{% for i in (big..bigger) %}{% endfor %}'],
    ['an endless range', '{% for i in (1..999999999) %}{% endfor %}'],
    ['a text that doubles', `{% assign s = "abc" %}${'{% assign s = s | append: s %}'.repeat(60)}{{ s }}`],
    ['a text that squares', `{% assign s = "aaaa" %}${'{% assign s = s | replace: "a", s %}'.repeat(9)}{{ s }}`],
    ['a list that doubles', `{% assign s = many %}${'{% assign s = s | concat: s %}'.repeat(40)}{{ s | size }}`],
    [
      'a capture that doubles',
      `{% capture s %}abc{% endcapture %}${'{% capture s %}{{ s }}{{ s }}{% endcapture %}'.repeat(40)}`,
    ],
    ['comparing long lists', loop('{% if many == same %}{% endif %}')],
    ['comparing them in one breath', `{% if ${'many == same and '.repeat(5000)} true %}{% endif %}`],
    ['sorting over and over', `{{ rows ${'| sort: "x" '.repeat(500)}}}`],
    ['a long text over and over', '{{ text }}{{ text }}{{ text }}'],
    ['padding a date', '{{ 0 | date: "%99999999d" }}'],
    ['blocks in blocks', '{% if many %}'.repeat(4000) + '{% endif %}'.repeat(4000)],
    ['emphasis in emphasis', '*a_'.repeat(8000)],
    ['strong without end', '**a'.repeat(8000)],
    ['brackets', '['.repeat(60_000)],
    ['quotes in quotes', '>'.repeat(60_000)],
    ['lists in lists', '- '.repeat(30_000)],
    ['numbers in numbers', '1) '.repeat(20_000)],
    ['a word without end', 'a'.repeat(90_000)],
    ['a word of marks', 'a.b-c_'.repeat(10_000)],
    ['addresses', 'a@'.repeat(30_000)],
    ['angles', '<a '.repeat(20_000)],
    ['a list without end', '1. a\n  - b\n'.repeat(5000)],
  ])('is stopped in time: %s', (_, template) => {
    const started = cpuMs();
    let code = '';
    try {
      const scope = { ...context, big: 2 ** 53, bigger: 2 ** 53 + 2 };
      renderMessage(compileMessage({ body: template }), { medium: 'email', channel: 'x', scope });
    } catch (error) {
      code = (error as AppError).code;
    }
    expect(['', 'template.failed', 'template.invalid']).toContain(code);
    // It takes a second on an idle core, which these tests do not have.
    expect(cpuMs() - started).toBeLessThan(4000);
  });

  it('must not produce more text than the limit, with or without its values', () => {
    for (const template of ['{{ text }}{{ text }}', `{% for i in (1..10000) %}${'a'.repeat(100)}{% endfor %}`]) {
      const fail = () =>
        renderMessage(compileMessage({ body: template }), { medium: 'sms', channel: 'x', scope: context });
      expect(fail).toThrow(
        expect.objectContaining({ code: 'template.failed', message: expect.stringContaining('produces') }),
      );
    }
  });

  it('fails with a code and the position, the same every time', () => {
    const fail = () =>
      renderMessage(compileMessage({ body: `a\n${loop('')}` }), { medium: 'sms', channel: 'x', scope: {} });
    for (let i = 0; i < 3; i++) {
      expect(fail).toThrow(
        expect.objectContaining({
          code: 'template.failed',
          message: 'body, line 2, column 26: takes more than 100000 steps',
        }),
      );
    }
  });

  it('renders long values quickly, whatever they contain', () => {
    const message = compileMessage({ subject: '{{ v }}', body });
    for (const unit of [' ', '\n', '\t\n', '*', '`', '&', '<', '>', '_ ', '[', '\\', 'a', '.', '/', '1.', '# ', '🔔']) {
      const scope = { v: unit.repeat(10_000 / unit.length) };
      for (const medium of ['email', 'slack', 'discord', 'telegram', 'teams', 'chat']) {
        const started = cpuMs();
        renderMessage(message, { medium, channel: 'x', scope });
        expect(cpuMs() - started, `${JSON.stringify(unit)} in ${medium}`).toBeLessThan(1500);
      }
    }
  });
});
