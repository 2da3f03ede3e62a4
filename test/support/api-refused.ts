/** Invalid bodies for the Bitcaster-compatible endpoints, each with the fields that the response must list in `errors`. */

export type InvalidBody = [what: string, body: unknown, fields: string[], code?: string];

/** Returns `levels` nested objects. */
export function nested(levels: number): object {
  let value: object = {};
  for (let i = 1; i < levels; i++) value = { a: value };
  return value;
}

const email = 'somebody@acme.test';
const tooDeep = (under: string) => `${under}${'/a'.repeat(32)}`;

const notObjects: InvalidBody[] = [
  ['null', null, ['body']],
  ['a text', '"text"', ['body']],
  ['a number', 5, ['body']],
];

const option = (options: object) => ({ options });
const future = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

/** Returns an email of this length that is valid in every other respect. */
export function longEmail(length: number): string {
  const domain = Array.from({ length: length - 70 }, (_, i) => (i % 62 === 61 ? '.' : 'a')).join('');
  return `${'j'.repeat(64)}@${domain}.test`;
}

const updates: InvalidBody[] = [
  ...notObjects,
  ['an array', [], ['body']],
  ['a first name that is no text', { first_name: 5 }, ['first_name']],
  ['a first name of null', { first_name: null }, ['first_name']],
  ['a first name of 256 characters', { first_name: 'x'.repeat(256) }, ['first_name']],
  ['a last name of 256 characters', { last_name: 'x'.repeat(256) }, ['last_name']],
  ['a last name with NUL', { last_name: 'a\0b' }, ['last_name']],
  ['locked that is no boolean', { locked: 'yes' }, ['locked']],
  ['custom fields that are an array', { custom_fields: [] }, ['custom_fields']],
  ['custom fields that are a text', { custom_fields: 'x', _mode: 'IGNORE' }, ['custom_fields']],
  ['custom fields of 33 levels', { custom_fields: nested(33) }, [tooDeep('custom_fields')]],
  ['an unknown mode', { _mode: 'APPEND' }, ['_mode']],
  ['a mode that is no text', { _mode: 1 }, ['_mode']],
  ['an unknown field', { firstname: 'Jane' }, ['firstname']],
  ['several mistakes', { first_name: 1, locked: 1 }, ['first_name', 'locked']],
];

const newUsers: InvalidBody[] = [
  ...notObjects,
  ['an array', [], ['body']],
  ['no email', {}, ['email']],
  ['an email that is no text', { email: 5 }, ['email']],
  ['an email of null', { email: null }, ['email']],
  ['an empty email', { email: '' }, ['email']],
  ['an email without @', { email: 'jane.acme.test' }, ['email']],
  ['an email without a dot in its domain', { email: 'jane@acme' }, ['email']],
  ['an email with a space', { email: 'jane doe@acme.test' }, ['email']],
  ['an email with a name', { email: 'Jane <jane@acme.test>' }, ['email']],
  ['an email of 255 characters', { email: longEmail(255) }, ['email']],
  ['an email with NUL', { email: 'a\0@acme.test' }, ['email']],
  ['a first name that is no text', { email, first_name: 5 }, ['first_name']],
  ['a first name of 256 characters', { email, first_name: 'x'.repeat(256) }, ['first_name']],
  ['a first name with NUL', { email, first_name: 'a\0b' }, ['first_name']],
  ['a first name with half a character', '{"email":"somebody@acme.test","first_name":"\\ud800"}', ['first_name']],
  ['a last name of 256 characters', { email, last_name: 'x'.repeat(256) }, ['last_name']],
  ['custom fields that are an array', { email, custom_fields: [] }, ['custom_fields']],
  ['custom fields that are a text', { email, custom_fields: 'x' }, ['custom_fields']],
  ['custom fields with NUL', { email, custom_fields: { a: ['\0'] } }, ['custom_fields/a/0']],
  ['custom fields of 33 levels', { email, custom_fields: nested(33) }, [tooDeep('custom_fields')]],
  ['a number too large', '{"email":"somebody@acme.test","custom_fields":{"n":1e999}}', ['custom_fields/n']],
  ['an unknown field', { email, nick: 'x' }, ['nick']],
  ['locked, which is only for updates', { email, locked: true }, ['locked']],
  ['an unknown field named like a method', { email, toString: 'x' }, ['toString']],
  ['a user that exists', { email: 'jane@acme.test' }, ['email'], 'user.exists'],
  ['a user that exists in other letters', { email: 'JANE@Acme.Test' }, ['email'], 'user.exists'],
  ['several mistakes', { first_name: 1, last_name: 2, nick: 3 }, ['email', 'nick', 'first_name', 'last_name']],
];

const newAddresses: InvalidBody[] = [
  ...notObjects,
  ['nothing', {}, ['name', 'value']],
  ['no value', { name: 'email' }, ['value']],
  ['an empty name', { name: '', value: 'x' }, ['name']],
  ['an empty value', { name: 'pager', value: '' }, ['value']],
  ['a name with LF', { name: 'pager\nBcc: x', value: 'x' }, ['name']],
  ['a name with CR', { name: 'pager\r', value: 'x' }, ['name']],
  ['a name that is no text', { name: 1, value: 'x' }, ['name']],
  ['a value that is no text', { name: 'pager', value: 1 }, ['value']],
  ['a name of 256 characters', { name: 'x'.repeat(256), value: 'x' }, ['name']],
  ['a value of 513 characters', { name: 'pager', value: 'x'.repeat(513) }, ['value']],
  ['an email kind without an email', { name: 'email', value: 'not one' }, ['value']],
  ['an email kind in other letters', { name: 'Email-Work', value: 'not one' }, ['value']],
  ['an email of 255 characters', { name: 'email', value: longEmail(255) }, ['value']],
  ['a phone kind without a number', { name: 'phone', value: 'call me' }, ['value']],
  ['a phone number without its country', { name: 'phone', value: '5555550100' }, ['value']],
  ['an sms kind without a number', { name: 'sms-work', value: '+1' }, ['value']],
  ['a value with NUL', { name: 'pager', value: 'a\0' }, ['value']],
  ['an unknown field', { name: 'pager', value: 'x', kind: 'y' }, ['kind']],
];

const triggers: InvalidBody[] = [
  ...notObjects,
  ['an array', [], ['body']],
  ['a mistyped context', { contxt: {} }, ['contxt']],
  ['a context that is an array', { context: [] }, ['context']],
  ['a context that is a text', { context: 'x' }, ['context']],
  ['a context of null', { context: null }, ['context']],
  ['a context of 33 levels', { context: nested(33) }, [tooDeep('context')]],
  ['a context with NUL', { context: { a: '\0' } }, ['context/a']],
  ['options that are an array', { options: [] }, ['options']],
  ['an unknown option', option({ chanels: ['mail'] }), ['options/chanels']],
  ['channels that are a text', option({ channels: 'mail' }), ['options/channels']],
  ['a channel that is no text', option({ channels: ['mail', 5] }), ['options/channels/1']],
  ['an unknown channel', option({ channels: ['mail', 'pigeon'] }), ['options/channels']],
  ['recipients that are no emails', option({ recipients: [email, 'jane'] }), ['options/recipients/1']],
  ['limit_to that is a text', option({ limit_to: email }), ['options/limit_to']],
  ['environs that are numbers', option({ environs: [1] }), ['options/environs/0']],
  ['send_at that is no time', option({ send_at: 'tomorrow' }), ['options/send_at']],
  ['send_at on a day that is not', option({ send_at: '2030-02-30T09:00:00Z' }), ['options/send_at']],
  ['send_at without an offset', option({ send_at: '2030-01-30T09:00:00' }), ['options/send_at']],
  ['send_at before the first year', option({ send_at: '0000-01-01T00:00:00Z' }), ['options/send_at']],
  ['send_at more than 30 days ahead', option({ send_at: future(31) }), ['options/send_at']],
  ['send_at and delay', option({ send_at: future(1), delay: '1h' }), ['options/delay']],
  ['a delay without a unit', option({ delay: '10' }), ['options/delay']],
  ['a delay of nothing', option({ delay: '0s' }), ['options/delay']],
  ['a delay in weeks', option({ delay: '1w' }), ['options/delay']],
  ['a delay below zero', option({ delay: '-5m' }), ['options/delay']],
  ['a delay that is a number', option({ delay: 90 }), ['options/delay']],
  ['a delay of 31 days', option({ delay: '31d' }), ['options/delay']],
  ['expires_at that is no time', option({ expires_at: 'never' }), ['options/expires_at']],
  ['expires_at in the past', option({ expires_at: future(-1) }), ['options/expires_at']],
  ['expires_at before send_at', option({ send_at: future(2), expires_at: future(1) }), ['options/expires_at']],
  ['expires_at before the delay is over', option({ delay: '2d', expires_at: future(1) }), ['options/expires_at']],
  ['expires_at after the last year', option({ expires_at: '9999-12-31T23:59:59-23:00' }), ['options/expires_at']],
  ['an unknown priority', option({ priority: 'high' }), ['options/priority']],
  ['an empty idempotency key', option({ idempotency_key: '' }), ['options/idempotency_key']],
  ['a long idempotency key', option({ idempotency_key: 'x'.repeat(256) }), ['options/idempotency_key']],
  ['dry_run that is no boolean', option({ dry_run: 'yes' }), ['options/dry_run']],
];

const newLists: InvalidBody[] = [
  ...notObjects,
  ['no name', {}, ['name']],
  ['an empty name', { name: '' }, ['name']],
  ['a name of spaces', { name: ' \t' }, ['name']],
  ['a name of 256 characters', { name: 'x'.repeat(256) }, ['name']],
  ['a name that is no text', { name: 5 }, ['name']],
  ['a name with NUL', { name: 'a\0' }, ['name']],
  ['an unknown field', { name: 'A list', members: [] }, ['members']],
  ['a name that exists', { name: 'Customers' }, ['name'], 'list.exists'],
  ['a name that exists in other letters', { name: 'cUSTOMERS' }, ['name'], 'list.exists'],
];

const recipients: InvalidBody[] = [
  ...notObjects,
  ['an object', { recipients: [email] }, ['body']],
  ['an empty array', [], ['body']],
  ['a text that is no email', [email, 'jane'], ['1']],
  ['a number', [email, 5, email], ['1']],
  ['null', [null], ['0']],
  ['an email with NUL', [email, 'a\0@acme.test'], ['1']],
  ['several that are no emails', ['x', email, 'y'], ['0', '2']],
];

export const refused = { updates, newUsers, newAddresses, triggers, newLists, recipients };
