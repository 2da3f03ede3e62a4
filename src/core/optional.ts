/** Schemas of properties that may be absent, and of times. */
import { type TNumberOptions, type TSchemaOptions, type TStringOptions, Type } from 'typebox';

export const optionalString = (options?: TStringOptions) => Type.Optional(Type.String(options));
export const optionalInteger = (options?: TNumberOptions) => Type.Optional(Type.Integer(options));
export const optionalBoolean = (options?: TSchemaOptions) => Type.Optional(Type.Boolean(options));

/** A time that a caller names. */
export const time = (description: string) =>
  Type.Unsafe<Date | string>({ type: 'string', format: 'date-time', description });
