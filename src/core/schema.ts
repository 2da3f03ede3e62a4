/** Checking a value against a schema, and saying in words what is wrong with which field. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Static, TSchema } from 'typebox';
import { type AppError, type FieldErrors, invalid } from './errors.ts';
import { cleanJson } from './json.ts';
import { isEmail } from './text.ts';

/** Fields that an answer names: whoever has more to mend knows enough. */
const mostNamed = 100;
/** Errors after which a body is not read further: 1 MiB of unknown fields took 0.9 s, and an answer of 4.7 MB. */
const mostErrors = 1_000;

export function createAjv(coerceTypes: boolean, allErrors = true): Ajv2020 {
  const code = allErrors ? { process: stopEarly } : {};
  // The schemas are our own, and a test checks them: to compile the schema of schemas took a third of a start.
  const validateSchema = false;
  const ajv = new Ajv2020({ allErrors, coerceTypes, strict: false, verbose: true, validateSchema, code });
  addFormats.default(ajv);
  // Ajv's own date-time takes a space for the T and forgets that a day can be missing from a month.
  ajv.addFormat('date-time', {
    type: 'string',
    validate: (text: string) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i.test(text) && isDate(text),
  });
  ajv.addFormat('email', { type: 'string', validate: isEmail });
  return ajv;
}

/**
 * Ajv collects all errors or one. What it generates is told to throw what it has as soon as there are enough, wherever
 * it counts them; `findErrors` catches that.
 */
function stopEarly(code: string): string {
  const isEnough = `if (errors >= ${mostErrors}) throw vErrors;`;
  return code
    .replace(/\berrors\+\+;/g, `errors++; ${isEnough}`)
    .replaceAll('errors = vErrors.length;', `$& ${isEnough}`);
}

/** What is wrong with the value, at least so many of it; empty when nothing is. */
export function findErrors(validate: ValidateFunction, value: unknown): ErrorObject[] {
  try {
    return validate(value) ? [] : (validate.errors ?? []);
  } catch (thrown) {
    if (Array.isArray(thrown)) return thrown as ErrorObject[];
    throw thrown;
  }
}

/** The 400 that names them, or the first of them. */
export function invalidShape(errors: ErrorObject[], whole?: string): AppError {
  const fields = toFieldErrors(errors, whole);
  const isNamed = Object.keys(fields).length < mostNamed && errors.length < mostErrors;
  return isNamed ? invalid(fields) : invalid(fields, 'request.invalid', errors.length);
}

// PostgreSQL knows no year 0, and five digits are not RFC 3339; an offset can lead to both.
const earliest = Date.parse('0001-01-01T00:00:00Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

function isDate(text: string): boolean {
  const day = Number(text.slice(8, 10));
  const month = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const moment = Date.parse(text);
  return moment >= earliest && moment <= latest && month.getUTCDate() === day;
}

/** `whole` is what the value itself is called: body, querystring… */
export function toFieldErrors(errors: ErrorObject[], whole = 'body'): FieldErrors {
  const fields = new Map<string, Set<string>>();
  // A union reports each of its branches and then itself: the branches say it better.
  const telling = errors.filter(error => error.keyword !== 'anyOf' || errors.length === 1);
  for (const error of telling) {
    if (fields.size >= mostNamed) break;
    const [field, message] = describe(error, whole);
    const messages = fields.get(field);
    if (messages) messages.add(message);
    else fields.set(field, new Set([message]));
  }
  return Object.fromEntries([...fields].map(([field, messages]) => [field, [...messages]]));
}

function describe(error: ErrorObject, whole: string): [field: string, message: string] {
  const path = error.instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  const at = (name: string) => (path ? `${path}/${name}` : name);
  const field = path || whole;
  switch (error.keyword) {
    case 'required':
      return [at(error.params.missingProperty), 'is required'];
    case 'additionalProperties': {
      const known = Object.keys(error.parentSchema?.properties ?? {});
      return [at(error.params.additionalProperty).slice(0, 255), `is not a known field (known: ${listed(known)})`];
    }
    case 'type':
      return [field, `must be ${[error.params.type].flat().map(article).join(' or ')}`];
    case 'format':
      return [field, formats[error.params.format as string] ?? `must be a valid ${error.params.format}`];
    case 'pattern':
      return [field, error.parentSchema?.patternHint ?? `must match ${error.params.pattern}`];
    case 'const':
      return [field, `may be "${shown(error.params.allowedValue)}"`];
    case 'enum':
      return [field, `must be one of ${listed(error.params.allowedValues)}`];
    case 'maxLength':
      return [field, `is longer than ${error.params.limit} characters`];
    case 'minLength':
      if (error.params.limit > 1) return [field, `is shorter than ${error.params.limit} characters`];
      return [field, 'must not be empty'];
    case 'minItems':
      if (error.params.limit > 1) return [field, `holds fewer than ${error.params.limit} items`];
      return [field, 'must not be empty'];
    case 'maxItems':
      return [field, `holds more than ${error.params.limit} items`];
    default:
      return [field, error.message ?? 'is invalid'];
  }
}

/** Whoever has more to choose from looks it up. */
const mostListed = 50;
const longestShown = 100;

function listed(values: readonly unknown[]): string {
  const rest = values.length > mostListed ? `, and ${values.length - mostListed} more` : '';
  return `${values.slice(0, mostListed).map(shown).join(', ')}${rest}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > longestShown ? `${text.slice(0, longestShown - 1)}…` : text;
}

const formats: Record<string, string> = {
  email: 'is not a valid email address',
  'date-time': 'is not a time such as 2030-01-31T09:00:00Z',
};

function article(type: string): string {
  const words: Record<string, string> = {
    object: 'an object',
    array: 'an array',
    integer: 'a whole number',
    null: 'null',
  };
  return words[type] ?? `a ${type}`;
}

/** The value in NFC, as the schema says it is; throws naming every field that is wrong. */
export function parse<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> {
  const errors: FieldErrors = {};
  const cleaned = cleanJson(value, errors);
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const validate = createAjv(false).compile(schema as object);
  const found = findErrors(validate, cleaned);
  if (found.length > 0) throw invalidShape(found);
  return cleaned as Static<Schema>;
}
