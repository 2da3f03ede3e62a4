/** CSV import and export of lists: an export can be imported again, and errors name their row. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { escapeFormula, findDelimiter, formatValue, readHeader, readRow } from '../../src/core/audience/list-file.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { fairNow } from '../support/fair-clock.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let count = 0;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

async function newList(): Promise<string> {
  const { body } = await ask({ method: 'POST', path: '/api/o/acme/p/shop/d/', body: { name: `File ${++count}` } });
  return `/api/o/acme/p/shop/d/${body.id}/`;
}

const headers = { 'content-type': 'text/csv' };
const send = (list: string, body: string | Buffer, query = '') =>
  ask({ method: 'POST', path: `${list}import/${query}`, headers, body });
const read = async (list: string) => (await ask({ path: `${list}export/` })).text;
const profile = async (email: string) => (await ask({ path: `/api/o/acme/u/${email}/profile/` })).body;

test('an import creates users and members, and returns the counts', async () => {
  const list = await newList();
  const answer = await send(
    list,
    'email,first_name,last_name,locale,active,phone,address.pager,custom.tier,custom.age\r\n' +
      'New@File.test,Nora,"O""Neill, Dr.",pt-br,yes,+1 555 555 0100,77,gold,30\r\n' +
      'jane@acme.test,,,,no,,,,\r\n',
  );
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toEqual({
    rows: 2,
    added: 2,
    existing: 0,
    created_users: 1,
    updated_users: 0,
    errors: [],
    errors_total: 0,
  });
  expect(await profile('new@file.test')).toMatchObject({
    email: 'New@File.test',
    last_name: 'O"Neill, Dr.',
    locale: 'pt-BR',
    custom_fields: { tier: 'gold', age: 30 },
  });
  const addresses = await ask({ path: '/api/o/acme/u/new@file.test/address/' });
  expect(addresses.body).toEqual([
    { name: 'email', value: 'New@File.test' },
    { name: 'phone', value: '+15555550100' },
    { name: 'pager', value: '77' },
  ]);
  expect((await ask({ path: `${list}count/` })).body).toEqual({ members: 2, active: 1 });
  expect((await ask({ path: '/api/o/acme/u/?search=nora' })).body).toHaveLength(1);
  expect((await profile('jane@acme.test')).first_name).toBe('jane');

  const again = await send(list, 'email,active,custom.tier\nnew@file.test,,gold\nJANE@acme.test,1,silver\n');
  expect(again.body).toMatchObject({ added: 0, existing: 2, created_users: 0, updated_users: 1 });
  expect((await profile('new@file.test')).custom_fields).toEqual({ tier: 'gold', age: 30 });
  expect((await ask({ path: `${list}count/` })).body).toEqual({ members: 2, active: 2 });
});

test('a byte order mark, semicolons, tabs, CR line ends and empty lines are accepted', async () => {
  for (const text of [
    '\ufeffemail;first_name\r\nx1@file.test;Xa\r\n',
    'email\tfirst_name\nx1@file.test\tXa\n\n',
    'first_name,"email"\rXa,x1@file.test',
  ]) {
    const list = await newList();
    const answer = await send(list, text);
    expect(answer.body, answer.text).toMatchObject({ rows: 1, added: 1 });
    expect((await profile('x1@file.test')).first_name).toBe('Xa');
  }
});

test('a file with errors is refused with the rows named, or only its valid rows are imported', async () => {
  const list = await newList();
  const text =
    'email,active,phone,locale\na@bad.test,,,\nnot an email,,,\nb@bad.test,maybe,12,xx_YY\n,,,\na@bad.test,true,,\nc@bad.test,,,,\n';
  const refused = await send(list, text);
  expectProblem(refused, 400, 'request.invalid', [
    'row 3/email',
    'row 4/active',
    'row 4/phone',
    'row 4/locale',
    'row 5/email',
    'row 6/email',
    'row 7/row',
  ]);
  expect(refused.body.detail).toMatch(/^row 3, email: is not a valid email address \(and 6 more errors\)/);
  expect((await ask({ path: `${list}count/` })).body.members).toBe(0);
  expectProblem(await ask({ path: '/api/o/acme/u/a@bad.test/' }), 404);

  const dryRun = await send(list, text, '?on_error=skip&dry_run=true');
  expect(dryRun.body).toMatchObject({ rows: 6, added: 1, created_users: 1, errors_total: 7 });
  expect((await ask({ path: `${list}count/` })).body.members).toBe(0);
  const skipped = await send(list, text, '?on_error=skip');
  expect(skipped.body).toEqual(dryRun.body);
  expect(skipped.body.errors[0]).toEqual({ row: 3, field: 'email', message: 'is not a valid email address' });
  expect((await ask({ path: `${list}count/` })).body.members).toBe(1);
});

test('an invalid file is refused with a helpful message', { tags: ['sweep'] }, async () => {
  const list = await newList();
  expectProblem(await send(list, 'mail,name\na@x.test,b'), 400, 'request.invalid', [
    'row 1/mail',
    'row 1/name',
    'row 1/email',
  ]);
  expectProblem(await send(list, 'email,email\n'), 400, 'request.invalid', ['row 1/email']);
  for (const name of ['address.pa\nger', 'phone\r\nx']) {
    expectProblem(await send(list, `email,"${name}"\na@x.test,1`), 400, 'request.invalid', [`row 1/${name}`]);
  }
  expectProblem(await send(list, ''), 400);
  const quotes: [file: string, detail: RegExp][] = [
    ['email,first_name\na@x.test,A\nb@x.test,a"b"\n', /line 3, column 2: the cell contains a quotation mark: enc/],
    ['em"ail"\n', /line 1, column 1: the cell contains a quotation mark/],
    ['email,first_name\na@x.test,"b"c\n', /line 2, column 2: there is text after the closing quotation mark/],
    ['email\n"a@x.test', /row 2, column 1: a quotation mark is never closed/],
    [
      'email,first_name\na@x.test,A\nb@x.test,"B\nc@x.test,C\nd@x.test,D\n',
      /row 3, column 2: a quotation mark is never closed/,
    ],
  ];
  for (const [file, detail] of quotes) {
    const refused = await send(list, file);
    expectProblem(refused, 400, 'request.malformed');
    expect(refused.body.detail).toMatch(detail);
  }
  const latin = await send(list, Buffer.from('email,first_name\na@x.test,J\xfcrgen\n', 'latin1'));
  expectProblem(latin, 400, 'request.malformed');
  expect(latin.body.detail).toContain('UTF-8');
  const wide = await send(list, Buffer.from('\ufeffemail\na@x.test\n', 'utf16le'));
  expect([wide.status, wide.body.detail]).toEqual([400, latin.body.detail]);
  const path = `${list}import/`;
  const charset = { 'content-type': 'text/csv; charset=iso-8859-1' };
  expectProblem(await ask({ method: 'POST', path, headers: charset, body: 'email\n' }), 400, 'request.malformed');
  expectProblem(await ask({ method: 'POST', path, body: {} }), 415, 'request.media_type');
  expectProblem(
    await ask({ method: 'POST', path: `${list}add/`, headers, body: 'email\n' }),
    415,
    'request.media_type',
  );
  expectProblem(await send(list, 'x'.repeat(10 * 1024 * 1024 + 1)), 413, 'request.too_large');
  const long = `email\n${Array.from({ length: 100_001 }, (_, i) => `u${i}@long.test`).join('\n')}`;
  const tooLong = await send(list, long);
  expectProblem(tooLong, 400, 'request.invalid', ['row 100002/file']);
  const wrong = await send(list, `email\n${'x\n'.repeat(1_500)}`, '?on_error=skip');
  expect([wrong.body.errors.length, wrong.body.errors_total]).toEqual([1_000, 1_500]);
});

test('an export can be imported again without changes, and contains no formula', async () => {
  const list = await newList();
  const custom = {
    note: '=1+1',
    zip: '01234',
    code: '123',
    list: [1, 'a'],
    yes: true,
    none: null,
    quote: "'=x",
    lines: 'a\nb',
  };
  const email = 'formula@file.test';
  const person = { email, first_name: '=HYPERLINK("http://x")', last_name: '@sum', custom_fields: custom };
  await ask({ method: 'POST', path: '/api/o/acme/u/', body: person });
  await ask({
    method: 'POST',
    path: `/api/o/acme/u/${email}/address/`,
    body: { name: 'phone', value: '+15555550123' },
  });
  await ask({ method: 'POST', path: `${list}add/`, body: [email, 'jane@acme.test'] });
  await ask({
    method: 'PATCH',
    path: `/api/o/acme/u/${email}/preferences/`,
    body: { preferences: [{ enabled: false }, { category: 'general', enabled: false }] },
  });
  const answer = await ask({ path: `${list}export/` });
  expect(answer.text).toContain('email,first_name,last_name,locale,active,opt_out,');
  expect(answer.text).toContain(',true,all general,');
  expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(answer.headers['content-disposition']).toMatch(/^attachment; filename\*=UTF-8''File%20\d+\.csv$/);
  for (const cell of answer.text
    .slice(1)
    .split(/[\r\n]+/)
    .flatMap(line => line.split(','))) {
    expect(cell.replace(/^"/, '')).not.toMatch(/^[=+\-@]/);
  }
  const before = await profile(email);
  expect((await send(list, answer.text)).body).toMatchObject({ rows: 2, existing: 2, updated_users: 0, errors: [] });
  expect(await profile(email)).toEqual(before);

  await ask({ method: 'DELETE', path: `/api/o/acme/u/${email}/` });
  await send(list, answer.text);
  const { id: _, created_at: __, updated_at: ___, ...after } = await profile(email);
  expect(after).toMatchObject({ ...person, custom_fields: custom });
  expect(await read(list)).toBe(answer.text);
});

test('any value that is written to a cell is read back', () => {
  const header = readHeader(['email', 'custom.x', 'first_name']);
  if ('mistakes' in header) throw new Error('a good header');
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom('=1', "'=1", "''-", '-5', '1e3', '1.0', ' x ', 'null', '"', '+1', '\t=', '9007199254740993'),
  );
  fc.assert(
    fc.property(value, x => {
      const cell = escapeFormula(formatValue(x as never));
      fc.pre(!cell.includes('\\u0000') && JSON.stringify(x).isWellFormed() && !JSON.stringify(x).includes('__proto__'));
      const row = readRow(['a@x.test', cell, ''], header.columns, 2);
      const kept = JSON.parse(JSON.stringify(x).normalize('NFC'));
      // An empty cell leaves the field unchanged.
      const value = x === '' ? undefined : { custom_fields: { x: kept } };
      expect(row).toMatchObject(value ? { value } : { value: {} });
    }),
  );
  expect(findDelimiter('"a;b;c",d\n1;2;3')).toBe(',');
});

test('other requests are served while a large file is imported into a small organization', {
  tags: ['sweep'],
}, async () => {
  const list = await newList();
  const rows = Array.from({ length: 50_000 }, (_, i) => `bulk${i}@file.test,Bulk,Person ${i}`);
  const whole = send(list, `email,first_name,last_name\n${rows.join('\n')}\n`);
  let slowest = 0;
  let done = false;
  const finish = () => {
    done = true;
  };
  whole.then(finish, finish);
  while (!done) {
    const start = fairNow();
    await ask({ path: '/api/system/ping/' });
    slowest = Math.max(slowest, fairNow() - start);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  const answer = await whole;
  expect(answer.body, answer.text).toMatchObject({ rows: 50_000, added: 50_000, created_users: 50_000 });
  expect((await ask({ path: `${list}count/` })).body).toEqual({ members: 50_000, active: 50_000 });
  expect(slowest).toBeLessThan(5_000);
});
