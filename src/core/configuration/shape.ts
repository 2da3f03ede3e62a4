/** Whether a document or a provider's settings have the form that their schema asks for. */
import type { ErrorObject } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import type { FieldErrors } from '../errors.ts';
import { createAjv, findErrors, toFieldErrors } from '../schema.ts';
import { isEmail } from '../text.ts';

const ajv = createAjv(false);
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
  const validate = ajv.compile(schema as object);
  return findErrors(validate, value).map(describe);
}

/** Several mistakes of one field stand together. */
export function addError(errors: FieldErrors, field: string, message: string): void {
  const messages = errors[field] ?? [];
  if (!messages.includes(message)) errors[field] = [...messages, message];
}

/** What the documents of this kind say beyond the words that all schemas share. */
function describe(error: ErrorObject): ShapeError {
  const { keyword, params, parentSchema } = error;
  const [[field, messages] = ['', []]] = Object.entries(toFieldErrors([error], ''));
  const mistake = { field, message: messages[0] ?? 'is invalid', missing: keyword === 'required' };
  if (keyword === 'dependentRequired') {
    mistake.field = field ? `${field}/${params.missingProperty}` : params.missingProperty;
    mistake.message = `is required together with ${params.property}`;
    mistake.missing = true;
  } else if (keyword === 'minProperties') {
    mistake.message = `must hold at least one of ${Object.keys(parentSchema?.properties ?? {}).join(', ')}`;
  } else if (params.format === 'mailbox') {
    mistake.message = 'must be an email address, or a name and one: Acme <no-reply@acme.test>';
  }
  return mistake;
}

/** No line breaks in it: this text becomes a header. */
export function isMailbox(text: string): boolean {
  const [, named, bare] = /^(?:(?:"[^"\p{Cc}]*"|[^<>"@\p{Cc}]*) ?<([^<>\s]+)>|([^<>\s]+))$/u.exec(text) ?? [];
  return isEmail(named ?? bare ?? '');
}
