/**
 * Validates requests. Bodies are checked as they are: nothing is coerced or removed. Numbers in queries are parsed from
 * text. Path parameters are not validated: a value that cannot exist is not found.
 */
import type { ValidateFunction } from 'ajv';
import type { FastifyRequest } from 'fastify';
import { type FieldErrors, invalid } from '../../core/errors.ts';
import { cleanJson, endOfString, isCleanJson, maxJsonDepth } from '../../core/json.ts';
import { createAjv, findErrors, invalidShape } from '../../core/schema.ts';
import { slices } from '../../lib/load/slices.ts';

interface Part {
  schema: unknown;
  method: string;
  url: string;
  httpPart?: string;
}

let ajv: Record<'allErrors' | 'firstError' | 'coercing', ReturnType<typeof createAjv>> | undefined;
/** Shared by all servers of the process, which have the same routes: tests start many. */
const compiled = new Map<string, { validate: ValidateFunction; isValid: ValidateFunction }>();

export function createValidator(schemas: readonly object[]) {
  const compile = ({ schema, httpPart }: Part) => {
    ajv ??= {
      allErrors: createAjv(false).addSchema([...schemas]),
      firstError: createAjv(false, false).addSchema([...schemas]),
      coercing: createAjv(true),
    };
    const validate = (httpPart === 'body' ? ajv.allErrors : ajv.coercing).compile(schema as object);
    return { validate, isValid: httpPart === 'body' ? ajv.firstError.compile(schema as object) : validate };
  };
  return (part: Part) => {
    const { schema, method, url, httpPart } = part;
    if (httpPart === 'params') return () => true;
    const key = `${method} ${url} ${httpPart}`;
    const numbers = httpPart === 'querystring' ? integersOf(schema) : [];
    let own: ReturnType<typeof compile> | undefined;
    const { maxItems = 0 } = resolve(schema, schemas) as { maxItems?: number };
    return (data: unknown) => {
      for (const name of numbers) refuseNonDecimal(data as Record<string, unknown>, name);
      // Compiled when first used: compiling all of them would take a third of the start-up time.
      if (!own) {
        own = compiled.get(key) ?? compile(part);
        compiled.set(key, own);
      }
      const { validate, isValid } = own;
      // Fastify awaits the promise, whatever its types say.
      if (Array.isArray(data) && data.length > itemsPerPart && data.length <= maxItems) {
        return validateParts(own, data) as unknown as true;
      }
      if (isValid(data)) return true;
      // Reporting every one of millions of invalid items took seconds and a gigabyte: report only that there are too many.
      const tooMany = isValid.errors?.find(error => error.keyword === 'maxItems');
      return { error: invalidShape(tooMany ? [tooMany] : findErrors(validate, data), httpPart) };
    };
  };
}

function resolve(schema: unknown, schemas: readonly object[]): object {
  const { $ref } = schema as { $ref?: string };
  return schemas.find(one => `${(one as { $id?: string }).$id}#` === $ref) ?? (schema as object);
}

/** Items of a list checked without a pause: an email address takes up to 4 µs. */
const itemsPerPart = 1_000;

/** Validates a long list in parts and yields to other requests in between. Throws the errors of the first invalid part. */
async function validateParts(
  { validate, isValid }: { validate: ValidateFunction; isValid: ValidateFunction },
  items: unknown[],
) {
  const pause = slices();
  for (let first = 0; first < items.length; first += itemsPerPart) {
    const part = items.slice(first, first + itemsPerPart);
    if (!isValid(part)) {
      const errors = findErrors(validate, part).map(error => ({
        ...error,
        instancePath: error.instancePath.replace(/^\/(\d+)/, (_, index) => `/${first + Number(index)}`),
      }));
      throw invalidShape(errors, 'body');
    }
    const paused = pause();
    if (paused) await paused;
  }
  return true;
}

function integersOf(schema: unknown): string[] {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  return Object.keys(properties).filter(name => properties[name]!.type === 'integer');
}

/** Accepts only decimal digits as a number: Ajv would also coerce 1e2 and 0x10. */
function refuseNonDecimal(query: Record<string, unknown>, name: string): void {
  const value = query[name];
  if (typeof value === 'string' && !/^-?\d+$/.test(value)) query[name] = 'not a number';
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Limits for a whole body, whatever its schema: 1 MiB of distinct fields took 0.2 s to parse, nested brackets 0.4 s. */
const maxFields = 20_000;
const maxDepth = 1_000;
/** 1 MiB of empty arrays took 0.15 s to parse, and 0.5 s in PostgreSQL. */
const maxValues = 100_000;
/** For imports: addRecipients accepts 100,000 addresses, and a declarative file lists members. */
const maxValuesOfLongBody = 250_000;
const longBody = 1024 * 1024;

/** Throws if a body exceeds any of these limits. Scans the text once, before it is parsed. */
export function refuseWideOrDeep(text: string, bodyLimit: number): void {
  const maxCount = bodyLimit > longBody ? maxValuesOfLongBody : maxValues;
  let values = 1;
  let fields = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22:
        i = endOfString(text, i);
        break;
      case 0x2c:
        if (++values > maxCount) throw invalid({ body: [`contains more than ${maxCount} values`] });
        break;
      case 0x3a:
        if (++fields > maxFields) throw invalid({ body: [`contains more than ${maxFields} fields`] });
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > maxDepth) throw invalid({ body: [`is nested more than ${maxJsonDepth} levels deep`] });
        break;
      case 0x5d:
      case 0x7d:
        depth--;
    }
  }
}

/** Returns undefined if the bytes are not UTF-8: replacement characters would corrupt the stored data. */
export function decodeBody(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Rejects values that cannot be stored, before the schema is checked. */
export function cleanBody(request: FastifyRequest): void {
  request.body = clean(request.body);
}

export function cleanQuery(request: FastifyRequest): void {
  request.query = clean(request.query);
}

function clean(value: unknown): unknown {
  if (isCleanJson(value)) return value;
  const errors: FieldErrors = {};
  const cleaned = cleanJson(value, errors);
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return cleaned;
}
