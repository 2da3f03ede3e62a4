/** Generators of hostile input: values, malformed JSON, path segments, queries and headers. */
import fc from 'fast-check';
import { listValues, withValueAt } from './json-paths.ts';

const halfCharacter = '\ud800';
const signs = '\0\u0001\u001f\u007f\u0080\u200b\u202e\ufeff\ufffd\uffff😀e\u0301İẞ%/\\"\'`$<>&;|*?#\r\n\t';

/** Keys that are special to JavaScript or PostgreSQL, or merely unusual. */
const keys = [
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  '',
  ' ',
  '\0',
  halfCharacter,
  'a\nb',
  '0',
  '-1',
  '~1',
  'a/b',
  '$ref',
  'x'.repeat(5_000),
];

const texts = [
  '',
  ' ',
  '\0',
  halfCharacter,
  `${halfCharacter}\0`,
  signs,
  'null',
  'jane@acme.test',
  'x@y.test\r\nBcc: z@y.test',
  '"quoted name"@y.test',
  `${'x'.repeat(300)}@y.test`,
  "'; drop table users; --",
  '{{ 7 * 7 }} <%= 7 * 7 %> #{7 * 7} %s %n',
  '../../etc/passwd',
  '2030-01-31T09:00:00Z',
  '0000-00-00T00:00:00Z',
  '9999-12-31T23:59:60+14:00',
  '999999999d',
  '+15555550100',
  `+${'9'.repeat(400)}`,
  'a'.repeat(100_000),
  '\u0344'.repeat(300),
  'ﷺ'.repeat(300),
  '0001-01-01T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  '-000001-01-01T00:00:00Z',
  '2016-12-31T23:59:60Z',
  '2030-02-30T09:00:00Z',
  '2030-01-31T09:00:00.123456789123456789Z',
  '9007199254740993',
  '9223372036854775808',
  '00000000-0000-0000-0000-000000000000',
  'асme',
  'ﬁle',
  '__proto__',
  '*',
  '%',
  '{{ "x" | append: "y" }}',
  '{% for i in (1..99999999) %}x{% endfor %}',
  '@ | [?a == `"x"`]',
  '((((((((((',
  'https://[::1',
  'http://127.0.0.1:1/',
  'javascript:alert(1)',
];

const numbers = [0, -0, 1, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 63, 1e21];

export const anyValue = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...texts) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(...numbers, null, true, false, [], {}, [[]], [null]) },
  { weight: 1, arbitrary: fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }) },
  { weight: 1, arbitrary: fc.array(fc.constantFrom<unknown>(...texts, ...numbers, null), { maxLength: 5 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom(...keys), fc.constantFrom<unknown>(...texts, null), { maxKeys: 4 }),
  },
);

/** Bodies with fields that the endpoint has, some that it does not have, and hostile values in them. */
export function bodies(fields: string[], valid: unknown): fc.Arbitrary<string> {
  const fieldsOnly = fc.record(Object.fromEntries(fields.map(name => [name, anyValue])), { requiredKeys: [] });
  const almost = fieldsOnly.map(changes => ({ ...(typeof valid === 'object' ? valid : {}), ...changes }));
  const strange = fc.dictionary(fc.constantFrom(...keys, ...fields), anyValue, { maxKeys: 3 });
  const arrays = fc
    .array(anyValue, { maxLength: 4 })
    .map(items => (Array.isArray(valid) ? [...valid, ...items] : items));
  const value = fc.oneof<fc.Arbitrary<unknown>[]>(fieldsOnly, almost, strange, arrays, anyValue);
  const text = value.map(body => JSON.stringify(body));
  const broken = fc
    .tuple(text, fc.nat(), fc.constantFrom('', ',', '1e999', '\\ud800', '\0', '"__proto__":{},', '}', ']]'))
    .map(
      ([whole, at, piece]) => whole.slice(0, at % (whole.length + 1)) + piece + whole.slice(at % (whole.length + 1)),
    );
  return fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: broken });
}

/** Hostile bodies that do not depend on the endpoint's schema. */
export function fixedBodies(field: string): (string | Buffer)[] {
  const inField = (json: string) => `{${JSON.stringify(field)}:${json}}`;
  const deep = [
    '['.repeat(10_000) + ']'.repeat(10_000),
    `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
    `${'[{"a":'.repeat(5_000)}1${'}]'.repeat(5_000)}`,
  ];
  const values = [
    '1e999',
    '-1e999',
    '1E400',
    '9'.repeat(5_000),
    '0.'.padEnd(5_000, '1'),
    '"\\u0000"',
    '"\\udfff"',
    ...deep,
  ];
  return [
    '',
    ' ',
    '\ufeff',
    'null',
    'true',
    'NaN',
    'undefined',
    '"text"',
    '{',
    '[[[[',
    "{'a':1}",
    '{"a":1,}',
    '// comment\n{}',
    '<xml/>',
    'a=b&c=d',
    '\0',
    '{"__proto__":{"admin":true}}',
    '{"\\u005f_proto__":{"admin":true}}',
    '{"constructor":{"prototype":{"admin":true}}}',
    `{${JSON.stringify(field)}:"a",${JSON.stringify(field)}:{}}`,
    inField('{"__proto__":1}'),
    inField('{"a":{"constructor":{"prototype":{}}}}'),
    ...values,
    ...values.map(inField),
    inField(`"${'x'.repeat(900_000)}"`),
    inField(`[${'0,'.repeat(200_000)}0]`),
    `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":${i}`).join()}}`,
    `[${'"x",'.repeat(50_000)}"x"]`,
    Buffer.from([0xff, 0xfe, 0x7b, 0, 0x7d, 0]),
    Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
    Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'),
    Buffer.from('1f8b0800000000000003abae050043bfa6a302000000', 'hex'),
  ];
}

/** Path segments, already percent-encoded. */
export const segments = fc.oneof(
  fc.constantFrom(
    ...[
      '.',
      '..',
      '%2e%2e',
      '%2F',
      '%5c',
      '%',
      '%zz',
      '%00',
      'a%00b',
      '%ff',
      '%ED%A0%80',
      '%C3%28',
      '%F0%9F%98%80',
      ';',
      ';a=b',
    ],
    ...[
      "'",
      "'--",
      '*',
      '$1',
      '$(id)',
      '__proto__',
      'constructor',
      'null',
      'undefined',
      'NaN',
      '-1',
      '0',
      '1e3',
      '1.0',
      '0x1',
      '+1',
    ],
    ...[
      '9223372036854775807',
      '9223372036854775808',
      '999999999999999',
      '9'.repeat(400),
      'x'.repeat(2_299),
      'x'.repeat(4_000),
    ],
    ...['%C4%B0@acme.test', 'acme%2Fp%2Fshop', 'jane@acme.test%00', '%F3%A0%80%A0'],
  ),
  fc.string({ unit: 'binary', maxLength: 20 }).map(text => encodeURIComponent(text)),
  fc.string({ unit: fc.constantFrom(..."abc019%2F0:@!$&'()*+,;=~._-"), maxLength: 12 }),
);

const queryValues = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    '-1',
    '1e3',
    '1.5',
    '0x10',
    '%205',
    '1001',
    '99999999999999999999',
    'NaN',
    'null',
    '[]',
    '%00',
    '%',
    '%ff',
    'x'.repeat(300),
  ),
  fc.constantFrom(
    ...['after 1', 'after -1', 'after 999999999999999', 'after 1e9', 'before 1'].map(text =>
      Buffer.from(text).toString('base64url'),
    ),
  ),
  fc.string({ unit: 'binary', maxLength: 20 }).map(text => encodeURIComponent(text)),
);

export const queries = fc
  .array(
    fc.tuple(
      fc.constantFrom('limit', 'cursor', 'cid', 'limit[]', '__proto__', 'constructor', '%00', '', 'toString'),
      queryValues,
    ),
    { maxLength: 4 },
  )
  .map(pairs => pairs.map(pair => pair.join('=')).join('&'));

const headerValue = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter(code => code !== 0x7f)
    .map(code => String.fromCharCode(code)),
  maxLength: 40,
});

export const headers: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    'idempotency-key',
    'accept',
    'accept-encoding',
    'host',
    'x-request-id',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'origin',
    'range',
    'if-none-match',
    'cookie',
    'content-encoding',
    'content-type',
    'accept-version',
    'x-http-method-override',
  ),
  fc.oneof(
    headerValue,
    fc.constantFrom(
      '',
      'x'.repeat(5_000),
      'application/json;charset=utf-16',
      'application/json; =',
      'multipart/form-data',
      'gzip',
      'bytes=0-1',
    ),
  ),
  { maxKeys: 4 },
);

/** Names of columns, keys and JavaScript properties that a body must not set. */
const smuggled = ['id', 'organization_id', 'project_id', 'is_admin', 'admin', 'role', 'created_at', 'constructor'];

/** Valid bodies with one hostile value, or one field that the schema does not have. */
export function almostValid(makeValid: () => unknown): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.nat(), anyValue, fc.option(fc.constantFrom(...smuggled, ...keys), { freq: 5 }))
    .map(([which, value, extra]) => {
      const valid = makeValid();
      const entries = listValues(valid);
      const [path] = entries[which % entries.length]!;
      const isField = typeof path.at(-1) === 'string';
      return withValueAt(valid, extra === null || !isField ? path : [...path.slice(0, -1), extra], value);
    });
}

/** Queries with these parameters and hostile values. */
export function queriesOf(names: string[]): fc.Arbitrary<string> {
  const value = fc.oneof(queryValues, fc.constantFrom(...texts.filter(text => text.length < 3_000)).map(encode));
  const pair = fc.tuple(fc.constantFrom(...names), value).map(parts => parts.join('='));
  return fc.array(pair, { minLength: 1, maxLength: 3 }).map(pairs => pairs.join('&'));
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
