/**
 * Checks the context of a trigger against the schema of its event. A schema is compiled once to closures that count their
 * steps, so that no schema or context takes longer than a trigger may. Tests compare the results with Ajv, which is not
 * used here because it has no limits: compiling 64 kB of schema took 2 s, checking 1 MiB of context 0.5 s.
 */
import type { ErrorObject } from 'ajv/dist/2020.js';
import { type FieldErrors, invalid } from '../errors.ts';
import { deepSize } from '../expressions/costs.ts';
import { canonicalJson, isObject, type Json, type JsonObject } from '../json.ts';
import { lookUp } from '../lookup.ts';
import { createAjv, toFieldErrors } from '../schema.ts';
import { compilePattern, type Pattern } from './patterns.ts';
import { type ContextSchema, expandReferences, schemaFormats } from './schema.ts';

/** At most about 40 ms; a small context takes a few dozen steps. */
const maxSteps = 300_000;
/** Checking stops after this many mistakes. */
const maxErrors = 100;
/** For a union, the mistakes of all branches are reported up to this number, else those of the closest branch. */
const maxUnionMistakes = 4;
/** The maximum length of a key in the path of a mistake. */
const maxKeyLength = 255;
/** The maximum length of a string that is checked against a format; a longer one never matches. */
const maxFormattedLength = 2_048;

/** Throws `context.invalid` with the invalid fields. */
export type CheckContext = (context: JsonObject) => void;

interface Run {
  stepsLeft: number;
  /** Path of the current value. */
  path: (string | number)[];
  errors: Mistake[];
}

type Mistake = Pick<ErrorObject, 'keyword' | 'instancePath' | 'params' | 'parentSchema' | 'message'>;
/** Returns whether the value is valid; if not, the mistakes are added to the run. */
type Check = (value: Json, run: Run) => boolean;

class TooManySteps extends Error {}

/** Compiles a schema in which `findSchemaMistakes` has found none. */
export function compileContextSchema(schema: ContextSchema): CheckContext {
  const check = compile(expandReferences(schema));
  return context => {
    const run: Run = { stepsLeft: maxSteps, path: [], errors: [] };
    try {
      if (check(context, run)) return;
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error;
      if (run.errors.length === 0) {
        throw invalid({ context: ["is too large to be checked against the event's schema"] }, 'context.invalid');
      }
    }
    throw invalid(toFields(run.errors), 'context.invalid');
  };
}

function toFields(errors: Mistake[]): FieldErrors {
  const fields = toFieldErrors(errors.slice(0, maxErrors) as ErrorObject[], '');
  return Object.fromEntries(
    Object.entries(fields).map(([field, messages]) => [field ? `context/${field}` : 'context', messages]),
  );
}

function step(run: Run, steps: number): void {
  run.stepsLeft -= steps;
  if (run.stepsLeft < 0 || run.errors.length >= maxErrors) throw new TooManySteps();
}

function compile(schema: Json): Check {
  if (!isObject(schema)) {
    return schema === true ? () => true : (_, run) => fail(run, {}, 'false', {}, 'must be absent');
  }
  const checks = Object.keys(schema).flatMap(keyword => {
    const make = lookUp(keywords, keyword);
    return make ? [make(schema[keyword] as never, schema)] : [];
  });
  const cost = 1 + checks.length / 8;
  return (value, run) => {
    step(run, cost);
    return every(checks, check => check(value, run));
  };
}

function fail(run: Run, schema: JsonObject, keyword: string, params: object, message?: string): false {
  step(run, 10);
  // A key can be as long as the context, and it is part of the path of every mistake below it.
  const parts = run.path.map(part => String(part).slice(0, maxKeyLength).replaceAll('~', '~0').replaceAll('/', '~1'));
  const instancePath = parts.map(part => `/${part}`).join('');
  run.errors.push({ keyword, instancePath, params, parentSchema: schema, message });
  return false;
}

/** Creates a check from the value of a keyword and the schema that contains it. */
type Make = (value: never, schema: JsonObject) => Check;

const isType = {
  object: isObject,
  array: Array.isArray,
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
} satisfies Record<string, (value: Json) => boolean>;

const forNumbers =
  (keyword: string, message: string, holds: (value: number, limit: number) => boolean): Make =>
  (limit: number, schema) =>
  (value, run) =>
    typeof value !== 'number' || holds(value, limit) || fail(run, schema, keyword, { limit }, `${message} ${limit}`);

/** A character may be two UTF-16 units; characters are counted only where that changes the result. */
const forText =
  (keyword: string, holds: (length: number, limit: number) => boolean): Make =>
  (limit: number, schema) =>
  (value, run) => {
    if (typeof value !== 'string') return true;
    const [max, min] = [value.length, Math.ceil(value.length / 2)];
    let isValid = holds(max, limit);
    if (isValid !== holds(min, limit)) {
      step(run, value.length / 4);
      isValid = holds([...value].length, limit);
    }
    return isValid || fail(run, schema, keyword, { limit });
  };

/** Lists the fields of an object. Of 20,000 fields that takes 3 to 6 ms, and a schema can ask for it 2,000 times. */
function fieldsOf(run: Run, value: JsonObject): string[] {
  const names = Object.keys(value);
  step(run, 4 * names.length);
  return names;
}

const forSize =
  (keyword: string, type: 'array' | 'object', message: string, holds: (size: number, limit: number) => boolean): Make =>
  (limit: number, schema) =>
  (value, run) => {
    if (!isType[type](value)) return true;
    const size = Array.isArray(value) ? value.length : fieldsOf(run, value as JsonObject).length;
    return holds(size, limit) || fail(run, schema, keyword, { limit }, message.replace('#', String(limit)));
  };

const atLeast = (value: number, limit: number) => value >= limit;
const atMost = (value: number, limit: number) => value <= limit;

function at(run: Run, part: string | number, value: Json, check: Check): boolean {
  run.path.push(part);
  const isValid = check(value, run);
  run.path.pop();
  return isValid;
}

/** Returns the mistakes without adding them to the run; undefined when the value is valid. */
function mistakesOf(run: Run, value: Json, check: Check): Mistake[] | undefined {
  step(run, 4);
  const inner: Run = { stepsLeft: run.stepsLeft, path: run.path, errors: [] };
  const isValid = check(value, inner);
  run.stepsLeft = inner.stepsLeft;
  return isValid ? undefined : inner.errors;
}

/** Creates a check of objects only, or of arrays only: other values are valid. */
const forObjects =
  (check: (value: JsonObject, run: Run) => boolean): Check =>
  (value, run) =>
    !isObject(value) || check(value, run);
const forArrays =
  (check: (value: Json[], run: Run) => boolean): Check =>
  (value, run) =>
    !Array.isArray(value) || check(value, run);

/** Returns whether all are valid. Checks all of them, to report every mistake. */
function every<T>(items: Iterable<T>, isValid: (item: T) => boolean): boolean {
  let areValid = true;
  for (const item of items) if (!isValid(item)) areValid = false;
  return areValid;
}

function compileMap(schemas: JsonObject): Map<string, Check> {
  return new Map(Object.entries(schemas).map(([name, schema]) => [name, compile(schema)]));
}

function patternOf(source: string): Pattern {
  const compiled = compilePattern(source);
  if ('mistake' in compiled) throw new Error(compiled.mistake);
  return compiled;
}

function matches(run: Run, { test, size }: Pattern, text: string): boolean {
  step(run, text.length * size);
  return test(text);
}

const keywords: Record<string, Make> = {
  type: (type: string | string[], schema) => {
    const tests = [type].flat().map(name => lookUp<(value: Json) => boolean>(isType, name)!);
    return (value, run) => tests.some(test => test(value)) || fail(run, schema, 'type', { type });
  },
  enum: (values: Json[], schema) => {
    const allowed = new Set(values.map(canonicalJson));
    return (value, run) => allowed.has(textOf(run, value)) || fail(run, schema, 'enum', { allowedValues: values });
  },
  const: (allowedValue: Json, schema) => {
    const text = canonicalJson(allowedValue);
    return (value, run) => textOf(run, value) === text || fail(run, schema, 'const', { allowedValue });
  },

  minimum: forNumbers('minimum', 'must be at least', atLeast),
  maximum: forNumbers('maximum', 'must be at most', atMost),
  exclusiveMinimum: forNumbers('exclusiveMinimum', 'must be greater than', (value, limit) => value > limit),
  exclusiveMaximum: forNumbers('exclusiveMaximum', 'must be less than', (value, limit) => value < limit),
  // Tolerates rounding: in floating point, 19.99 is not an exact multiple of 0.01.
  multipleOf: forNumbers('multipleOf', 'must be a multiple of', (value, unit) => {
    const times = value / unit;
    return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
  }),

  minLength: forText('minLength', atLeast),
  maxLength: forText('maxLength', atMost),
  pattern: (source: string, schema) => {
    const pattern = patternOf(source);
    return (value, run) =>
      typeof value !== 'string' || matches(run, pattern, value) || fail(run, schema, 'pattern', { pattern: source });
  },
  format: (format: string, schema) => {
    const test = formatOf(format);
    return (value, run) => {
      if (typeof value !== 'string') return true;
      step(run, Math.min(value.length, maxFormattedLength) / 4);
      return test(value) || fail(run, schema, 'format', { format });
    };
  },

  minItems: forSize('minItems', 'array', '', atLeast),
  maxItems: forSize('maxItems', 'array', '', atMost),
  uniqueItems: (isUnique: boolean, schema) =>
    forArrays((value, run) => {
      const isValid = !isUnique || new Set(value.map(item => textOf(run, item))).size === value.length;
      return isValid || fail(run, schema, 'uniqueItems', {}, 'must not contain duplicate items');
    }),
  prefixItems: (schemas: Json[]) => {
    const checks = schemas.map(compile);
    return forArrays((value, run) =>
      every(checks.entries(), ([i, check]) => i >= value.length || at(run, i, value[i]!, check)),
    );
  },
  items: (items: Json, { prefixItems = [] }) => {
    const check = compile(items);
    const first = (prefixItems as Json[]).length;
    return forArrays((value, run) => every(value.entries(), ([i, item]) => i < first || at(run, i, item, check)));
  },

  minProperties: forSize('minProperties', 'object', 'must have at least # fields', atLeast),
  maxProperties: forSize('maxProperties', 'object', 'must have at most # fields', atMost),
  required: (names: string[], schema) =>
    forObjects((value, run) => {
      step(run, names.length / 8);
      return every(
        names,
        name => Object.hasOwn(value, name) || fail(run, schema, 'required', { missingProperty: name }),
      );
    }),
  dependentRequired: (needs: Record<string, string[]>) => {
    const checks = Object.entries(needs).map(([name, names]) => ({ name, check: compile({ required: names }) }));
    return forObjects((value, run) => {
      step(run, checks.length / 8);
      return every(checks, ({ name, check }) => !Object.hasOwn(value, name) || check(value, run));
    });
  },
  properties: (schemas: JsonObject) => {
    const checks = compileMap(schemas);
    return forObjects((value, run) => {
      step(run, checks.size / 8);
      return every(checks, ([name, check]) => !Object.hasOwn(value, name) || at(run, name, value[name]!, check));
    });
  },
  patternProperties: (schemas: JsonObject) => {
    const checks = [...compileMap(schemas)].map(([source, check]) => ({ pattern: patternOf(source), check }));
    return forObjects((value, run) =>
      every(fieldsOf(run, value), name =>
        every(checks, ({ pattern, check }) => !matches(run, pattern, name) || at(run, name, value[name]!, check)),
      ),
    );
  },
  additionalProperties: (schema: Json, parent) => {
    const { properties = {}, patternProperties = {} } = parent as { [keyword: string]: JsonObject };
    const named = new Set(Object.keys(properties));
    const patterns = Object.keys(patternProperties).map(patternOf);
    const check = compile(schema);
    return forObjects((value, run) =>
      every(fieldsOf(run, value), name => {
        step(run, 1);
        if (named.has(name) || patterns.some(pattern => matches(run, pattern, name))) return true;
        if (schema === false) return fail(run, parent, 'additionalProperties', { additionalProperty: name });
        return at(run, name, value[name]!, check);
      }),
    );
  },
  propertyNames: (schema: Json) => {
    const check = compile(schema);
    return forObjects((value, run) => every(fieldsOf(run, value), name => at(run, name, name, check)));
  },

  allOf: (schemas: Json[]) => {
    const checks = schemas.map(compile);
    return (value, run) => {
      step(run, checks.length / 8);
      return every(checks, check => check(value, run));
    };
  },
  anyOf: (schemas: Json[]) => {
    const checks = schemas.map(compile);
    return (value, run) => {
      const branches: Mistake[][] = [];
      for (const check of checks) {
        const mistakes = mistakesOf(run, value, check);
        if (!mistakes) return true;
        branches.push(mistakes);
      }
      return reportBranches(run, branches);
    };
  },
  oneOf: (schemas: Json[], schema) => {
    const checks = schemas.map(compile);
    return (value, run) => {
      const branches = checks.map(check => mistakesOf(run, value, check));
      const wrong = branches.filter(mistakes => mistakes !== undefined);
      if (wrong.length === checks.length - 1) return true;
      if (wrong.length === checks.length) return reportBranches(run, wrong);
      return fail(run, schema, 'oneOf', {}, 'matches more than one of the oneOf schemas');
    };
  },
  not: (schema: Json, parent) => {
    const check = compile(schema);
    return (value, run) =>
      mistakesOf(run, value, check) !== undefined || fail(run, parent, 'not', {}, 'matches the schema in not');
  },
  if: (condition: Json, parent) => {
    const [check, isTrue, isFalse] = [condition, parent.then ?? true, parent.else ?? true].map(compile);
    return (value, run) => (mistakesOf(run, value, check!) ? isFalse! : isTrue!)(value, run);
  },
};

function reportBranches(run: Run, branches: Mistake[][]): false {
  const all = branches.flat();
  const closest = branches.toSorted((a, b) => a.length - b.length)[0] ?? [];
  run.errors.push(...(all.length <= maxUnionMistakes ? all : closest));
  return false;
}

/** Returns a text for comparing, which is the same for equal values. */
function textOf(run: Run, value: Json): string {
  step(run, 2 * deepSize(value, run.stepsLeft, 6));
  return canonicalJson(value);
}

let formats: Map<string, (text: string) => boolean> | undefined;

function formatOf(name: string): (text: string) => boolean {
  formats ??= readFormats();
  const test = formats.get(name)!;
  return text => text.length <= maxFormattedLength && test(text);
}

function readFormats(): Map<string, (text: string) => boolean> {
  const ajv = createAjv(false);
  return new Map(
    schemaFormats.map(name => {
      const format = ajv.formats[name] as { validate?: unknown };
      const validate = format.validate ?? format;
      return [name, validate instanceof RegExp ? text => validate.test(text) : (validate as (text: string) => boolean)];
    }),
  );
}
