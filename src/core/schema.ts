/** Validates values against JSON schemas and turns the errors into messages by field. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Static, TSchema } from 'typebox';
import { type AppError, type FieldErrors, invalid } from './errors.ts';
import { cleanJson } from './json.ts';
import { lookUp } from './lookup.ts';
import { isEmail } from './text/text.ts';

/** The maximum number of fields in one response. */
const maxReportedFields = 100;
/** Validation stops after this many errors: 1 MiB of unknown fields took 0.9 s and a response of 4.7 MB. */
const maxErrors = 1_000;

export function createAjv(coerceTypes: boolean, allErrors = true): Ajv2020 {
  const code = allErrors ? { process: stopEarly } : {};
  // A test validates our schemas; compiling the meta-schema would take a third of the start-up time.
  const validateSchema = false;
  const ajv = new Ajv2020({ allErrors, coerceTypes, strict: false, verbose: true, validateSchema, code });
  addFormats.default(ajv);
  // Ajv's own date-time accepts a space instead of the T, and days that a month does not have.
  ajv.addFormat('date-time', {
    type: 'string',
    validate: (text: string) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i.test(text) && isDate(text),
  });
  ajv.addFormat('url', { type: 'string', validate: (text: string) => URL.canParse(text) });
  ajv.addFormat('email', { type: 'string', validate: isEmail });
  return ajv;
}

/**
 * Ajv collects either all errors or one. This patches the generated code to throw the errors collected so far once there
 * are `maxErrors`; `findErrors` catches them.
 */
function stopEarly(code: string): string {
  const isEnough = `if (errors >= ${maxErrors}) throw vErrors;`;
  return code
    .replace(/\berrors\+\+;/g, `errors++; ${isEnough}`)
    .replaceAll('errors = vErrors.length;', `$& ${isEnough}`);
}

/** Returns the validation errors, at most about `maxErrors` of them; empty when the value is valid. */
export function findErrors(validate: ValidateFunction, value: unknown): ErrorObject[] {
  try {
    return validate(value) ? [] : (validate.errors ?? []);
  } catch (thrown) {
    if (Array.isArray(thrown)) return thrown as ErrorObject[];
    throw thrown;
  }
}

/** Creates the `request.invalid` error that lists the fields, up to `maxReportedFields` of them. */
export function invalidShape(errors: ErrorObject[], rootName?: string): AppError {
  const fields = toFieldErrors(errors, rootName);
  const isComplete = Object.keys(fields).length < maxReportedFields && errors.length < maxErrors;
  return isComplete ? invalid(fields) : invalid(fields, 'request.invalid', errors.length);
}

// PostgreSQL has no year 0, and RFC 3339 has no five-digit years; an offset can lead to either.
const earliest = Date.parse('0001-01-01T00:00:00Z');
const latest = Date.parse('9999-12-31T23:59:59.999Z');

function isDate(text: string): boolean {
  const day = Number(text.slice(8, 10));
  const month = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const moment = Date.parse(text);
  return moment >= earliest && moment <= latest && month.getUTCDate() === day;
}

/** Groups messages by field. `rootName` is the field name of the value itself: body, querystring… */
export function toFieldErrors(errors: ErrorObject[], rootName = 'body'): FieldErrors {
  const fields = new Map<string, Set<string>>();
  // A union reports each of its branches and then itself; the branches are more specific.
  const specific = errors.filter(
    (error, i) => (error.keyword !== 'anyOf' || errors.length === 1) && !isBesideThePoint(error, errors[i - 1]),
  );
  for (const error of specific) {
    if (fields.size >= maxReportedFields) break;
    const [field, message] = describe(error, rootName);
    const messages = fields.get(field);
    if (messages) messages.add(message);
    else fields.set(field, new Set([message]));
  }
  return Object.fromEntries([...fields].map(([field, messages]) => [field, [...messages]]));
}

/** What may be null, and has a mistake although its type is right: the branch before says which. */
function isBesideThePoint({ keyword, params, instancePath }: ErrorObject, before: ErrorObject | undefined): boolean {
  if (keyword !== 'type' || params.type !== 'null' || !before) return false;
  if (before.instancePath === instancePath) return before.keyword !== 'type';
  return before.instancePath.startsWith(`${instancePath}/`);
}

function describe(error: ErrorObject, rootName: string): [field: string, message: string] {
  const path = error.instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  const at = (name: string) => (path ? `${path}/${name}` : name);
  const field = path || rootName;
  switch (error.keyword) {
    case 'required':
      return [at(error.params.missingProperty), 'is required'];
    case 'additionalProperties': {
      const allowed = Object.keys(error.parentSchema?.properties ?? {});
      const name: string = error.params.additionalProperty;
      return [at(name).slice(0, 255), `is not a known field (known: ${formatList(allowed)})`];
    }
    case 'type':
      return [field, `must be ${[error.params.type].flat().map(article).join(' or ')}`];
    case 'format':
      return [field, lookUp(formats, error.params.format as string) ?? `must be a valid ${error.params.format}`];
    case 'pattern':
      return [field, error.parentSchema?.patternHint ?? `must match ${error.params.pattern}`];
    case 'const':
      return [field, `must be "${formatValue(error.params.allowedValue)}"`];
    case 'enum':
      return [field, `must be one of ${formatList(error.params.allowedValues)}`];
    case 'maxLength':
      return [field, `is longer than ${error.params.limit} characters`];
    case 'minLength':
      if (error.params.limit > 1) return [field, `is shorter than ${error.params.limit} characters`];
      return [field, 'must not be empty'];
    case 'minItems':
      if (error.params.limit > 1) return [field, `has fewer than ${error.params.limit} items`];
      return [field, 'must not be empty'];
    case 'maxItems':
      return [field, `has more than ${error.params.limit} items`];
    default:
      return [field, error.message ?? 'is invalid'];
  }
}

/** The maximum number of choices listed in a message. */
const maxListed = 50;
const maxShownLength = 100;

function formatList(values: readonly unknown[]): string {
  const rest = values.length > maxListed ? `, and ${values.length - maxListed} more` : '';
  return `${values.slice(0, maxListed).map(formatValue).join(', ')}${rest}`;
}

function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength - 1)}…` : text;
}

const formats: Record<string, string> = {
  email: 'is not a valid email address',
  url: 'is not a valid URL: check its host and port',
  'date-time': 'is not a time such as 2030-01-31T09:00:00Z',
};

function article(type: string): string {
  const names: Record<string, string> = {
    object: 'an object',
    array: 'an array',
    integer: 'a whole number',
    null: 'null',
  };
  return names[type] ?? `a ${type}`;
}

/** Returns the value in NFC with the schema's type; throws `request.invalid` with every invalid field. */
export function parse<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> {
  const errors: FieldErrors = {};
  const cleaned = cleanJson(value, errors);
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const validate = createAjv(false).compile(schema as object);
  const found = findErrors(validate, cleaned);
  if (found.length > 0) throw invalidShape(found);
  return cleaned as Static<Schema>;
}
