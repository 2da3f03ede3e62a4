/** Texts that took some parser quadratic time or worse. */

type Shape = (size: number) => string;

const runs = [
  ' ',
  '\n',
  'a',
  '1',
  '*',
  '_',
  '`',
  '~',
  '<',
  '>',
  '[',
  '(',
  '{',
  '}',
  '"',
  "'",
  '\\',
  '|',
  '#',
  '-',
  '!',
  '&',
  '@',
];
const units = [
  ...[
    'a\n',
    '*a_',
    '[a](',
    '![a](',
    '<a ',
    '`a',
    '~~a',
    'a@',
    'a.',
    'http://a.b',
    'www.a.',
    '1. a\n',
    '- a\n',
    '> a\n',
  ],
  ...[
    '|a|b|\n',
    '[a]: b\n',
    '```\n',
    '---\n',
    '&amp;',
    '<!--',
    '</',
    '* ',
    '- - a\n',
    '\ta\n',
    'é',
    '🔔',
    '\u0000',
    '${',
    '$`',
  ],
  ...[
    '{{',
    '{{ a }}',
    '{% if a %}',
    '{% for i in (1..9) %}',
    '{%',
    '{{ a | upcase }}',
    '{{ a.b',
    '{% raw %}',
    '{% liquid\n',
  ],
  ...['"a\n",', ',', ';', "'=", 'a,', '\r', '!!', '[@,@]|', '&&a', '||a', '.a', '[*]', '`1`', "'a'"],
];
const ends: Record<string, [before: string, unit: string, after: string]> = {
  'an address that is none': ['', 'a', '@'],
  'an address with dots': ['', 'a.', '@'],
  'an item without an end': ['- ', 'a\n', ''],
  'a link without an end': ['[a](', ' ', ''],
  'a title without an end': ['[a](b "', 'a ', ''],
  'a heading and spaces': ['# a', ' ', 'x'],
  'spaces before a sign': ['', ' ', 'x'],
  'a definition without an end': ['[a]:', '\n', ''],
  'a table without rows': ['', 'a|', '\n-'],
  'an attribute and spaces': ['<a href=', ' ', 'x{{ a }}{{ content }}'],
  'many filters': ['{{ a ', '| upcase ', '}}'],
  'many properties': ['{{ a', '.b', '}}'],
  'many conditions': ['{% if a ', 'or a ', '%}{% endif %}'],
  'a loop that writes signs': ['{% for i in (1..5000) %}', '*a_', '{% endfor %}'],
  'a loop that writes an address': ['{% for i in (1..9999) %}aaaaaa{% endfor %}', '', '@'],
  'a loop that writes an item': ['- {% for i in (1..9999) %}aa\n{% endfor %}', '', ''],
  'a loop in a loop': ['{% for i in (1..9999) %}{% for j in (1..9999) %}', 'a', '{% endfor %}{% endfor %}'],
  'a link of many values': ['[a](https://a.test/{% for i in (1..4000) %}{{ a }}{% endfor %}', ' ', ')'],
  'a host of many values': ['[a](https://{% for i in (1..4000) %}{{ a }}{% endfor %}', ' ', ')'],
  'a long split': ['{{ long | split: "', 'a', 'b" }}'],
};

export const shapes: Record<string, Shape> = Object.fromEntries([
  ...[...runs, ...units].map(unit => [`${JSON.stringify(unit)} again and again`, repeat('', unit, '')]),
  ...Object.entries(ends).map(([name, [before, unit, after]]) => [name, repeat(before, unit, after)]),
]);

function repeat(before: string, unit: string, after: string): Shape {
  const times = (size: number) => Math.floor((size - before.length - after.length) / (unit.length || 1));
  return size => before + unit.repeat(Math.max(1, times(size))) + after;
}

const ticks = '`';

/** Short expressions that are expensive to evaluate. `size` scales the work. */
export const expressions: Record<string, (size: number) => string> = {
  'a padded text': size => `length(pad_left('a', ${ticks}${size * 1000}${ticks}, 'b'))`,
  'a text padded to the right': size => `length(pad_right(text, ${ticks}${size * 1000}${ticks}))`,
  'a count of replacements': size => `replace('a', 'a', 'b', ${ticks}${size * 1000}${ticks})`,
  'a replacement that grows': () => "replace(text, 'a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb')",
  'a list in a list': size => `[@, @]${' | [@, @]'.repeat(Math.min(size, 400))}`,
  'a list in a list as text': () => `[@, @]${' | [@, @]'.repeat(30)} | to_string(@)`,
  'a list in a list compared': () => `[@, @]${' | [@, @]'.repeat(30)} | @ == @`,
  'a list in a list flattened': () => `[list, list]${' | [@, @]'.repeat(20)} ${'| [] '.repeat(20)}`,
  'each with each': () => 'map(&map(&i, $.list), list)',
  'each in a search': () => 'list[?contains($.text, $.needle)]',
  'each from the end': () => 'list[?find_last($.text, $.needle)]',
  'the whole for each': () => 'list[?$.keys]',
  'the keys for each': () => 'map(&keys($.keys), list)',
  'the keys merged': size => `merge(${Array.from({ length: Math.min(size, 300) }, () => 'keys').join()})`,
  'sorted by long texts': () => 'sort_by(list, &s)',
  'sorted texts': () => 'sort(list[*].s)',
  'trimmed spaces': () => 'trim_right(spaces)',
  'a reversed text': () => 'text[::-1]',
  'all as text': () => 'to_string(@)',
  'compared with itself': () => '$ == $',
  grouped: () => 'group_by(list, &s)',
  nots: size => '!'.repeat(Math.min(size, 4_000)),
  brackets: size => '('.repeat(Math.min(size, 4_000)),
  'many names': size => `let ${Array.from({ length: Math.min(size, 200) }, (_, i) => `$a${i} = @`).join()} in $a0`,
};

export function contextOf(size: number) {
  return {
    a: 'x',
    text: 'a'.repeat(size),
    needle: `${'a'.repeat(size / 100)}b${'a'.repeat(size / 100)}`,
    spaces: `${' '.repeat(size)}x`,
    long: 'a'.repeat(size),
    list: Array.from({ length: size / 20 }, (_, i) => ({ i, s: `a long text that differs at its end ${i}` })),
    keys: Object.fromEntries(Array.from({ length: size / 20 }, (_, i) => [`key ${i}`, i])),
  };
}

/** Expensive bodies of about this many bytes. */
export const bodies: Record<string, (size: number, fields: string[]) => string> = {
  'unknown fields': size => `{${Array.from({ length: size / 12 }, (_, i) => `"k${i}":1`).join()}}`,
  'the same wrong for each field': (size, fields) =>
    `{${fields.map(name => `"${name}":[${'1,'.repeat(size / fields.length / 2 - 10)}1]`).join()}}`,
  'a long text in each field': (size, fields) =>
    `{${fields.map(name => `"${name}":"${' '.repeat(size / fields.length - 20)}x"`).join()}}`,
  'many objects in each field': (size, fields) =>
    `{${fields.map(name => `"${name}":[${'{"":{}},'.repeat(size / fields.length / 8 - 10)}{}]`).join()}}`,
  'an object in each field': (size, fields) =>
    `{${fields.map(name => `"${name}":{${Array.from({ length: size / fields.length / 12 }, (_, i) => `"${i}":"é"`).join()}}`).join()}}`,
  'a long list': size => `[${'"a@b",'.repeat(size / 6)}""]`,
  'deep nesting': size => '[{"a":'.repeat(size / 6),
  'nesting that ends': size => '['.repeat(size / 2) + ']'.repeat(size / 2),
};
