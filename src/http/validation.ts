/**
 * Bodies are checked as they are, nothing is coerced or dropped; what stands in a query is text, so numbers are read
 * from it. Path parameters are not validated: one that cannot exist is simply not found.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyRequest } from 'fastify';
import { type FieldErrors, invalid } from '../core/errors.ts';
import { cleanJson } from '../core/json.ts';
import { isEmail } from '../core/text.ts';

const mostErrors = 20;

function createAjv(coerceTypes: boolean): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, coerceTypes, strict: false, verbose: true });
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

function isDate(text: string): boolean {
  const day = Number(text.slice(8, 10));
  const month = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(Date.parse(text)) && month.getUTCDate() === day;
}

type Part = 'body' | 'querystring' | 'headers' | 'params' | undefined;

export function createValidator(schemas: readonly object[]) {
  const strict = createAjv(false).addSchema([...schemas]);
  const coercing = createAjv(true);
  return ({ schema, httpPart }: { schema: unknown; httpPart?: string }) => {
    const part = httpPart as Part;
    if (part === 'params') return () => true;
    const validate: ValidateFunction = (part === 'body' ? strict : coercing).compile(schema as object);
    return (data: unknown) => {
      if (validate(data)) return true;
      return { error: invalid(toFieldErrors(validate.errors ?? [], part)) };
    };
  };
}

/** Refuses what cannot be stored, before the schema looks at it. */
export function cleanBody(request: FastifyRequest): void {
  const errors: FieldErrors = {};
  request.body = cleanJson(request.body, errors);
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

function toFieldErrors(errors: ErrorObject[], part: Part): FieldErrors {
  const fields: FieldErrors = {};
  // A union reports each of its branches and then itself: the branches say it better.
  const telling = errors.filter(error => error.keyword !== 'anyOf' || errors.length === 1);
  for (const error of telling) {
    const [field, message] = describe(error, part);
    if (Object.keys(fields).length >= mostErrors && !fields[field]) continue;
    fields[field] = [...new Set([...(fields[field] ?? []), message])];
  }
  return fields;
}

function describe(error: ErrorObject, part: Part): [field: string, message: string] {
  const path = error.instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  const at = (name: string) => (path ? `${path}/${name}` : name);
  const field = path || (part ?? 'body');
  switch (error.keyword) {
    case 'required':
      return [at(error.params.missingProperty), 'is required'];
    case 'additionalProperties': {
      const known = Object.keys(error.parentSchema?.properties ?? {});
      return [at(error.params.additionalProperty).slice(0, 255), `is not a known field (known: ${known.join(', ')})`];
    }
    case 'type':
      return [field, `must be ${article(String(error.params.type))}`];
    case 'format':
      return [field, formats[error.params.format as string] ?? `must be a valid ${error.params.format}`];
    case 'pattern':
      return [field, error.parentSchema?.patternHint ?? `must match ${error.params.pattern}`];
    case 'const':
      return [field, `may be "${error.params.allowedValue}"`];
    case 'enum':
      return [field, `must be one of ${error.params.allowedValues.join(', ')}`];
    case 'maxLength':
      return [field, `is longer than ${error.params.limit} characters`];
    case 'minLength':
      return [field, 'must not be empty'];
    case 'minItems':
      return [field, 'must not be empty'];
    case 'maxItems':
      return [field, `holds more than ${error.params.limit} items`];
    default:
      return [field, error.message ?? 'is invalid'];
  }
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
