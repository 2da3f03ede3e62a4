/** Validates documents and provider settings against their schemas. */
import type { ErrorObject } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import type { FieldErrors } from '../errors.ts';
import { createAjv, findErrors, toFieldErrors } from '../schema.ts';
import { isEmail } from '../text/text.ts';

const ajv = createAjv(false);
ajv.addFormat('mailbox', { type: 'string', validate: isMailbox });

interface ShapeError {
  /** Path within the value, separated by slashes; empty for the value itself. */
  field: string;
  message: string;
  /** Whether a required field is absent. */
  missing: boolean;
}

/** Returns the schema errors of a value. Each schema is compiled once. */
export function shapeErrors(schema: TSchema, value: unknown): ShapeError[] {
  const validate = ajv.compile(schema as object);
  return findErrors(validate, value).map(describe);
}

/** Adds a message to a field, unless the field already has the same one. */
export function addError(errors: FieldErrors, field: string, message: string): void {
  const messages = errors[field] ?? [];
  if (!messages.includes(message)) errors[field] = [...messages, message];
}

/** Adds messages for the keywords that only documents and provider settings use. */
function describe(error: ErrorObject): ShapeError {
  const { keyword, params, parentSchema } = error;
  const [[field, messages] = ['', []]] = Object.entries(toFieldErrors([error], ''));
  const mistake = { field, message: messages[0] ?? 'is invalid', missing: keyword === 'required' };
  if (keyword === 'dependentRequired') {
    mistake.field = field ? `${field}/${params.missingProperty}` : params.missingProperty;
    mistake.message = `is required together with ${params.property}`;
    mistake.missing = true;
  } else if (keyword === 'minProperties') {
    mistake.message = `must have at least one of ${Object.keys(parentSchema?.properties ?? {}).join(', ')}`;
  } else if (params.format === 'mailbox') {
    mistake.message = 'must be an email address, optionally with a name: Acme <no-reply@acme.test>';
  }
  return mistake;
}

/** Rejects line breaks, because the text becomes a mail header. */
export function isMailbox(text: string): boolean {
  const [, named, bare] = /^(?:(?:"[^"\p{Cc}]*"|[^<>"@\p{Cc}]*) ?<([^<>\s]+)>|([^<>\s]+))$/u.exec(text) ?? [];
  return isEmail(named ?? bare ?? '');
}
