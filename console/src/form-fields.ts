/** Defaults and limits of form fields, from the API's description of its requests. */
import { formFields } from './api-types.ts';

export type RequestBody = keyof typeof formFields;

/** Returns the limits of an input; a part of a field is named `throttle.max`. */
export function limitsOf(body: RequestBody, field: string): { min?: number; max?: number; maxLength?: number } {
  const { default: _, ...limits } = formFields[body][field]!;
  return limits;
}

/** Returns the values of a new object: the default of each field, or null. */
export function defaultsOf(body: RequestBody): Record<string, unknown> {
  const fields = Object.entries(formFields[body]).filter(([field]) => !field.includes('.'));
  return Object.fromEntries(fields.map(([field, schema]) => [field, schema.default ?? null]));
}
