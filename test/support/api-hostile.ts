/** What the unkind send: values, texts that are almost JSON, path segments, queries and headers. */
import fc from 'fast-check';

const halfCharacter = '\ud800';
const signs = '\0\u0001\u001f\u007f\u0080\u200b\u202e\ufeff\ufffd\uffff😀e\u0301İẞ%/\\"\'`$<>&;|*?#\r\n\t';

/** Keys that mean something to JavaScript, to PostgreSQL, or to nobody. */
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

/** Objects with the fields that the endpoint knows, one or the other that it does not, and hostile values in them. */
export function bodies(fields: string[], valid: unknown): fc.Arbitrary<string> {
  const known = fc.record(Object.fromEntries(fields.map(name => [name, anyValue])), { requiredKeys: [] });
  const almost = known.map(given => ({ ...(typeof valid === 'object' ? valid : {}), ...given }));
  const strange = fc.dictionary(fc.constantFrom(...keys, ...fields), anyValue, { maxKeys: 3 });
  const arrays = fc
    .array(anyValue, { maxLength: 4 })
    .map(items => (Array.isArray(valid) ? [...valid, ...items] : items));
  const value = fc.oneof<fc.Arbitrary<unknown>[]>(known, almost, strange, arrays, anyValue);
  const text = value.map(made => JSON.stringify(made));
  const broken = fc
    .tuple(text, fc.nat(), fc.constantFrom('', ',', '1e999', '\\ud800', '\0', '"__proto__":{},', '}', ']]'))
    .map(
      ([whole, at, piece]) => whole.slice(0, at % (whole.length + 1)) + piece + whole.slice(at % (whole.length + 1)),
    );
  return fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: broken });
}

/** Bodies that are the same for everybody. */
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

/** As they stand in a path: not encoded again. */
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
