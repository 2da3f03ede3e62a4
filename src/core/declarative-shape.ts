/** Whether a value has the form that a schema asks for, and if not, what is wrong with which field, in plain words. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import type { FieldErrors } from './errors.ts';
import { isEmail } from './text.ts';

const ajv = new Ajv2020({ allErrors: true, strict: false, verbose: true });
ajv.addFormat('email', { type: 'string', validate: isEmail });
ajv.addFormat('mailbox', { type: 'string', validate: isMailbox });

export interface ShapeError {
  /** Pointer below the value, without a leading slash; empty for the value itself. */
  field: string;
  message: string;
  /** A field that should be there and is not. */
  missing: boolean;
}

/** Compiled once for each schema. */
export function shapeErrors(schema: TSchema, value: unknown): ShapeError[] {
  const validate = ajv.compile(schema);
  return validate(value) ? [] : (validate.errors ?? []).map(describe);
}

/** Several mistakes of one field stand together. */
export function addError(errors: FieldErrors, field: string, message: string): void {
  const messages = errors[field] ?? [];
  if (!messages.includes(message)) errors[field] = [...messages, message];
}

function describe(error: ErrorObject): ShapeError {
  const path = error.instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  const below = (name: string) => (path ? `${path}/${name}` : name);
  const { params } = error;
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired': {
      const message = params.property ? `is required together with ${params.property}` : 'is required';
      return { field: below(params.missingProperty), message, missing: true };
    }
    case 'additionalProperties': {
      const known = Object.keys(error.parentSchema?.properties ?? {});
      const hint = known.length > 0 ? ` (known: ${known.join(', ')})` : '';
      return { field: below(params.additionalProperty), message: `is not a known field${hint}`, missing: false };
    }
    default:
      return { field: path, message: wording(error), missing: false };
  }
}

function wording({ keyword, params, parentSchema, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${types[params.type as string] ?? `a ${params.type}`}`;
    case 'format':
      return formats[params.format as string] ?? `must be a valid ${params.format}`;
    case 'pattern':
      return parentSchema?.patternHint ?? `must match ${params.pattern}`;
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`;
    case 'maxLength':
      return `is longer than ${params.limit} characters`;
    case 'maxItems':
      return `holds more than ${params.limit} items`;
    case 'minLength':
    case 'minItems':
      return 'must not be empty';
    case 'minProperties':
      return `must hold at least one of ${Object.keys(parentSchema?.properties ?? {}).join(', ')}`;
    default:
      return message ?? 'is invalid';
  }
}

const types: Record<string, string> = { object: 'an object', array: 'an array', integer: 'a whole number' };

const formats: Record<string, string> = {
  email: 'is not a valid email address',
  mailbox: 'must be an email address, or a name and one: Acme <no-reply@acme.test>',
};

/** No line breaks in it: this text becomes a header. */
function isMailbox(text: string): boolean {
  const [, named, bare] = /^(?:(?:"[^"\p{Cc}]*"|[^<>"@\p{Cc}]*) ?<([^<>\s]+)>|([^<>\s]+))$/u.exec(text) ?? [];
  return isEmail(named ?? bare ?? '');
}
