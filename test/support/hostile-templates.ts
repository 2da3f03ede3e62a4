/**
 * Generates random messages that are slow to render. Filters, tags and operators come from the caller, so that new ones
 * are covered without a change here.
 */
import fc from 'fast-check';
import type { JsonObject } from '../../src/core/json.ts';
import type { MessageContent } from '../../src/core/render/render.ts';

export interface Language {
  filters: readonly string[];
  tags: readonly string[];
  operators: readonly string[];
}

export interface HostileMessage {
  content: MessageContent;
  layout: string | undefined;
  medium: string;
  scope: JsonObject;
}

/** Limits of the API: bytes of a body, fields in it, and its depth. */
const maxBytes = 1_048_576;
const maxFields = 20_000;
const maxDepth = 32;

/** Characters of a repeated part and of a template: usually below the limit for shared threads. */
const maxPart = 1_500;
const maxTemplate = 3_500;

const repeat = (text: string, length: number) => text.repeat(Math.ceil(length / text.length)).slice(0, length);
const times = (text: string, count: number, separator = '') =>
  Array(Math.max(1, Math.min(count, Math.floor(maxPart / (text.length + separator.length)))))
    .fill(text)
    .join(separator);
const list = <T>(length: number, item: (i: number) => T): T[] => Array.from({ length }, (_, i) => item(i));
const nest = (depth: number, inner: unknown, wrap: (value: unknown) => unknown): unknown =>
  depth <= 0 ? inner : wrap(nest(depth - 1, inner, wrap));

/** Creates the value of a variable with about `size` bytes of JSON. */
const values: Record<string, (size: number) => unknown> = {
  text: size => repeat('a b', size),
  words: size => repeat('\u4e00 \u00e9\ud83d\udd14<b>&"', size / 3),
  blank_text: size => repeat(' \n\t', size / 2),
  digits: size => repeat('1234567890', size),
  dots: size => repeat('x.', size),
  brackets: size => repeat("x['x'][x]", size),
  format: size => repeat('%A%B%c%Z%9999N', size),
  tags_text: size => repeat('<a <!-- </script ', size),
  percents: size => repeat('%41%C3', size),
  strings: size => list(size / 4, () => 'y'),
  empties: size => list(size / 3, () => ''),
  long_strings: size => list(Math.max(1, size / 1_000), i => repeat('same ', 990) + i),
  numbers: size => list(size / 7, i => (i * 7_919) % 1_000_003),
  zeros: size => list(size / 2, () => 0),
  lists: size => list(size / 3, () => []),
  list_of_lists: size => list(Math.sqrt(size), () => list(Math.sqrt(size) / 3, i => i)),
  rows: size => list(Math.min(size / 40, maxFields / 4), i => ({ id: i, x: { x: { y: 'y' } }, name: `Row ${i}` })),
  wide: size => Object.fromEntries(list(Math.min(size / 12, maxFields - 2_000), i => [`k${i}`, i])),
  long_key: size => ({ [repeat('k', size)]: 1 }),
  deep: size => nest(maxDepth - 2, repeat('x', size), value => ({ x: value })),
  deep_list: size => nest(maxDepth - 2, repeat('x', size), value => [value, 0]),
};
const names = Object.keys(values);

interface Sample {
  value: unknown;
  bytes: number;
  fields: number;
}

const samples = new Map<string, Sample>();

/** Cached, because rendering never changes a value. */
function sampleOf(name: string, size: number): Sample {
  const key = `${name} ${size}`;
  const cached = samples.get(key);
  if (cached) return cached;
  const value = values[name]!(size);
  const json = JSON.stringify(value);
  const sample = { value, bytes: Buffer.byteLength(json), fields: json.split(':').length };
  samples.set(key, sample);
  return sample;
}

/** A few variables, at most one of them large. */
const context: fc.Arbitrary<JsonObject> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom(...names),
      size: fc.constantFrom(10, 100, 1_000, 5_000, 20_000, 60_000, 100_000, 1_000_000),
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 6 },
  )
  .map(chosen => {
    const scope: JsonObject = { user: { name: 'Ada', timezone: 'Europe/Berlin' }, now: '2026-01-02T03:04:05Z', e: '' };
    let bytes = 0;
    let fields = 10;
    for (const { name, size } of chosen) {
      const { value, ...more } = sampleOf(name, size);
      if (bytes + more.bytes > maxBytes || fields + more.fields > maxFields) continue;
      bytes += more.bytes;
      fields += more.fields;
      scope[name] = value as JsonObject[string];
    }
    return scope;
  });

/** Templates that use existing variables. */
function templates({ filters, tags, operators }: Language, variables: readonly string[]): fc.Arbitrary<string> {
  const variable = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...variables) },
    { weight: 1, arbitrary: fc.constantFrom('c', 'v', 'i', 'forloop', 'e', 'content', 'none', 'user') },
  );
  const property = fc.oneof(
    fc.constantFrom('x', 'size', 'first', 'last', 'x.x.y', 'id', 'name', 'index', 'skeleton', 'values', 'x[x]', '[x]'),
    fc
      .tuple(fc.constantFrom('x', 'size', 'first', 'x[0]', 'x[x.size]'), fc.integer({ min: 2, max: 200 }))
      .map(([part, n]) => Array(n).fill(part).join('.')),
  );
  const literal = fc.oneof(
    fc.constantFrom(
      '1',
      '0',
      '-1',
      '9999',
      '1e9',
      '0.5',
      'nil',
      'true',
      'false',
      'empty',
      'blank',
      '"y"',
      '""',
      '" "',
      '"a"',
    ),
    fc.constantFrom('(1..10)', '(1..5000)', '(1..10000)', '(e..9)', '"}}"', '"%Y-%m-%d"', '"UTC"', '"Asia/Tokyo"'),
    property.map(path => `"${path}"`),
    fc
      .tuple(
        fc.constantFrom('a', ' ', '%A', '%c', '%-9999d', 'x.', '\u00e9', '<', '%'),
        fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 700 })),
      )
      .map(([unit, n]) => `"${unit.repeat(n)}"`),
  );
  const value = fc.oneof(
    { weight: 5, arbitrary: variable },
    { weight: 2, arbitrary: fc.tuple(variable, property).map(([name, path]) => `${name}.${path}`) },
    { weight: 1, arbitrary: fc.tuple(variable, variable).map(([name, key]) => `${name}[${key}]`) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(variable, variable, fc.integer({ min: 2, max: 800 }))
        .map(([name, key, n]) => name + times(`[${key}]`, n)),
    },
    { weight: 3, arbitrary: literal },
  );
  const filter = fc
    .tuple(fc.constantFrom(...filters), fc.array(value, { maxLength: 3 }))
    .map(([name, args]) => ` | ${name}${args.length > 0 ? `: ${args.join(', ')}` : ''}`);
  const count = fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 500 }) },
  );
  const chain = fc
    .array(fc.tuple(filter, count), { maxLength: 4 })
    .map(parts => parts.map(([text, n]) => times(text, n)).join(''));
  const filtered = fc.tuple(value, chain).map(([start, text]) => start + text);
  const condition = fc.oneof(
    filtered,
    fc
      .tuple(value, fc.constantFrom(...operators), value, fc.constantFrom(' and ', ' or ', ' '), count)
      .map(([left, operator, right, glue, n]) => times(`${left} ${operator} ${right}`, n, glue)),
  );
  const { node } = fc.letrec<{ node: string; block: string }>(tie => {
    const block = tie('block');
    const byTag: Record<string, fc.Arbitrary<string>> = {
      '#': fc.constant('{% # note %}'),
      assign: fc
        .tuple(fc.constantFrom('v', ...variables), filtered)
        .map(([name, text]) => `{% assign ${name} = ${text} %}`),
      break: fc.constant('{% break %}'),
      capture: block.map(inner => `{% capture c %}${inner}{% endcapture %}`),
      case: fc
        .tuple(filtered, fc.array(value, { minLength: 1, maxLength: 3 }), count, block)
        .map(
          ([on, when, n, inner]) =>
            `{% case ${on} %}{% when ${times(when.join(', '), n, ', ')} %}${inner}{% endcase %}`,
        ),
      comment: block.map(inner => `{% comment %}${inner}{% endcomment %}`),
      continue: fc.constant('{% continue %}'),
      echo: filtered.map(text => `{% echo ${text} %}`),
      for: fc
        .tuple(value, fc.constantFrom('', ' limit: 2', ' reversed', ' offset: 1 reversed', ' limit: 9999'), block)
        .map(([over, modifier, inner]) => `{% for i in ${over}${modifier} %}${inner}{% endfor %}`),
      if: fc.tuple(condition, block).map(([when, inner]) => `{% if ${when} %}${inner}{% else %}${inner}{% endif %}`),
      liquid: filtered.map(text => `{% liquid\n assign v = ${text}\n echo v\n%}`),
      raw: fc.constant(`{% raw %}{{ '{% endraw %}`),
      unless: fc.tuple(condition, block).map(([when, inner]) => `{% unless ${when} %}${inner}{% endunless %}`),
    };
    const missing = tags.filter(tag => !byTag[tag]);
    if (missing.length > 0) throw new Error(`add a generator for the tags ${missing.join()} here`);
    return {
      node: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        { weight: 2, arbitrary: fc.constantFrom('a', '\n', ' *b* ', '{{ e }}', 'x'.repeat(200)) },
        { weight: 6, arbitrary: filtered.map(text => `{{ ${text} }}`) },
        ...tags.map(tag => ({ weight: 1, arbitrary: byTag[tag]! })),
      ),
      block: fc.array(tie('node'), { maxLength: 3, depthIdentifier: 'block' }).map(nodes => nodes.join('')),
    };
  });
  return fc.array(fc.tuple(node, count), { minLength: 1, maxLength: 4 }).map(nodes => {
    const parts = nodes.map(([text, n]) => times(text, n));
    return parts.filter((_, i) => parts.slice(0, i + 1).join('').length <= maxTemplate).join('');
  });
}

export function hostileMessages(language: Language, media: readonly string[]): fc.Arbitrary<HostileMessage> {
  return context.chain(scope => {
    const variables = Object.keys(scope).filter(name => name in values);
    const template = templates(language, variables.length > 0 ? variables : ['e']);
    const content: fc.Arbitrary<MessageContent> = fc.oneof(
      { weight: 3, arbitrary: template.map(body => ({ body })) },
      { weight: 3, arbitrary: template.map(subject => ({ body: 'b', subject })) },
      { weight: 1, arbitrary: fc.record({ body: template, subject: template, avatar: template }) },
      {
        weight: 1,
        arbitrary: fc.array(template, { minLength: 1, maxLength: 5 }).map(labels => ({
          body: 'b',
          actions: labels.map((label, i) => ({ name: `a${i}`, label, acknowledge: true as const })),
        })),
      },
    );
    const layout = template.map(text => `{{ content }}${text}`);
    return fc.record({
      content,
      layout: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: layout }),
      medium: fc.constantFrom(...media),
      scope: fc.constant(scope),
    });
  });
}
