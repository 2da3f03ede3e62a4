/**
 * Checks the context of a trigger against the schema of its event: closures that are put together once, and count their
 * steps, so that no schema and no context takes longer than a trigger may. Ajv is what it is measured by in the tests. Its
 * own compiler took 2 s for a schema of 64 kB, and what it makes knows no end of its patience: 0.5 s for a context of 1 MiB.
 */
import type { ErrorObject } from 'ajv/dist/2020.js';
import { compilePattern, type Pattern } from './context-patterns.ts';
import { type ContextSchema, expandReferences, schemaFormats } from './context-schema.ts';
import { type FieldErrors, invalid } from './errors.ts';
import { canonicalJson, isObject, type Json, type JsonObject } from './json.ts';
import { createAjv, toFieldErrors } from './schema.ts';

/** About 40 ms of the slowest ones; a small context takes a few dozen. */
const mostSteps = 300_000;
/** Mistakes after which a context is not read further. */
const mostErrors = 100;
/** Of a union, the mistakes of all branches up to so many, else those of the branch that is nearest. */
const mostOfUnion = 4;
/** Characters of a string that a format is asked about; a longer one has not that format. */
const longestFormatted = 2_048;

/** Throws `context.invalid` that names each field that is wrong. */
export type CheckContext = (context: JsonObject) => void;

interface Run {
  stepsLeft: number;
  /** Where the value stands. */
  path: (string | number)[];
  errors: Mistake[];
}

type Mistake = Pick<ErrorObject, 'keyword' | 'instancePath' | 'params' | 'parentSchema' | 'message'>;
/** Whether the value is valid; else the mistakes are in the run. */
type Check = (value: Json, run: Run) => boolean;

class TooManySteps extends Error {}

/** Of a schema without mistakes. */
export function compileContextSchema(schema: ContextSchema): CheckContext {
  const check = compile(expandReferences(schema));
  return context => {
    const run: Run = { stepsLeft: mostSteps, path: [], errors: [] };
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
  const fields = toFieldErrors(errors.slice(0, mostErrors) as ErrorObject[], '');
  return Object.fromEntries(
    Object.entries(fields).map(([field, messages]) => [field ? `context/${field}` : 'context', messages]),
  );
}

function step(run: Run, steps: number): void {
  run.stepsLeft -= steps;
  if (run.stepsLeft < 0 || run.errors.length >= mostErrors) throw new TooManySteps();
}

function compile(schema: Json): Check {
  if (!isObject(schema)) {
    return schema === true ? () => true : (_, run) => fail(run, {}, 'false', {}, 'must be absent');
  }
  const checks = Object.keys(schema).flatMap(keyword => {
    const make = Object.hasOwn(keywords, keyword) ? keywords[keyword] : undefined;
    return make ? [make(schema[keyword] as never, schema)] : [];
  });
  return (value, run) => {
    step(run, 1);
    let isValid = true;
    for (const check of checks) if (!check(value, run)) isValid = false;
    return isValid;
  };
}

function fail(run: Run, schema: JsonObject, keyword: string, params: object, message?: string): false {
  step(run, 10);
  const instancePath = run.path.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  run.errors.push({ keyword, instancePath, params, parentSchema: schema, message });
  return false;
}

/** The value of a keyword, and the schema that it stands in. */
type Make = (value: never, schema: JsonObject) => Check;

const isType: Record<string, (value: Json) => boolean> = {
  object: isObject,
  array: Array.isArray,
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
};

const forNumbers =
  (keyword: string, words: string, holds: (value: number, limit: number) => boolean): Make =>
  (limit: number, schema) =>
  (value, run) =>
    typeof value !== 'number' || holds(value, limit) || fail(run, schema, keyword, { limit }, `${words} ${limit}`);

/** A character may be two units of UTF-16: they are counted only where that decides. */
const forText =
  (keyword: string, holds: (length: number, limit: number) => boolean): Make =>
  (limit: number, schema) =>
  (value, run) => {
    if (typeof value !== 'string') return true;
    const [most, least] = [value.length, Math.ceil(value.length / 2)];
    let isValid = holds(most, limit);
    if (isValid !== holds(least, limit)) {
      step(run, value.length / 16);
      isValid = holds([...value].length, limit);
    }
    return isValid || fail(run, schema, keyword, { limit });
  };

const forSize =
  (keyword: string, type: 'array' | 'object', words: string, holds: (size: number, limit: number) => boolean): Make =>
  (limit: number, schema) =>
  (value, run) => {
    if (!isType[type]!(value)) return true;
    const size = Array.isArray(value) ? value.length : Object.keys(value as JsonObject).length;
    return holds(size, limit) || fail(run, schema, keyword, { limit }, words.replace('#', String(limit)));
  };

const atLeast = (value: number, limit: number) => value >= limit;
const atMost = (value: number, limit: number) => value <= limit;

function at(run: Run, part: string | number, value: Json, check: Check): boolean {
  run.path.push(part);
  const isValid = check(value, run);
  run.path.pop();
  return isValid;
}

/** What is wrong, without telling anybody yet; undefined when nothing is. */
function mistakesOf(run: Run, value: Json, check: Check): Mistake[] | undefined {
  step(run, 4);
  const inner: Run = { stepsLeft: run.stepsLeft, path: run.path, errors: [] };
  const isValid = check(value, inner);
  run.stepsLeft = inner.stepsLeft;
  return isValid ? undefined : inner.errors;
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
    const tests = [type].flat().map(name => isType[name]!);
    return (value, run) => tests.some(test => test(value)) || fail(run, schema, 'type', { type });
  },
  enum: (values: Json[], schema) => {
    const known = new Set(values.map(canonicalJson));
    return (value, run) => known.has(textOf(run, value)) || fail(run, schema, 'enum', { allowedValues: values });
  },
  const: (wanted: Json, schema) => {
    const text = canonicalJson(wanted);
    return (value, run) => textOf(run, value) === text || fail(run, schema, 'const', { allowedValue: wanted });
  },

  minimum: forNumbers('minimum', 'must be at least', atLeast),
  maximum: forNumbers('maximum', 'must be at most', atMost),
  exclusiveMinimum: forNumbers('exclusiveMinimum', 'must be greater than', (value, limit) => value > limit),
  exclusiveMaximum: forNumbers('exclusiveMaximum', 'must be less than', (value, limit) => value < limit),
  // 19.99 is a multiple of 0.01 to everybody but a computer.
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
    return (value, run) => typeof value !== 'string' || test(value) || fail(run, schema, 'format', { format });
  },

  minItems: forSize('minItems', 'array', '', atLeast),
  maxItems: forSize('maxItems', 'array', '', atMost),
  uniqueItems: (isUnique: boolean, schema) => (value, run) => {
    if (!isUnique || !Array.isArray(value)) return true;
    const isValid = new Set(value.map(item => textOf(run, item))).size === value.length;
    return isValid || fail(run, schema, 'uniqueItems', {}, 'must not hold the same item twice');
  },
  prefixItems: (schemas: Json[]) => {
    const checks = schemas.map(compile);
    return (value, run) => {
      if (!Array.isArray(value)) return true;
      let isValid = true;
      for (const [i, check] of checks.entries()) {
        if (i < value.length && !at(run, i, value[i]!, check)) isValid = false;
      }
      return isValid;
    };
  },
  items: (items: Json, { prefixItems = [] }) => {
    const check = compile(items);
    const first = (prefixItems as Json[]).length;
    return (value, run) => {
      if (!Array.isArray(value)) return true;
      let isValid = true;
      for (let i = first; i < value.length; i++) if (!at(run, i, value[i]!, check)) isValid = false;
      return isValid;
    };
  },

  minProperties: forSize('minProperties', 'object', 'must hold # fields or more', atLeast),
  maxProperties: forSize('maxProperties', 'object', 'must hold # fields or fewer', atMost),
  required: (names: string[], schema) => (value, run) => {
    if (!isObject(value)) return true;
    step(run, names.length / 8);
    let isValid = true;
    for (const missingProperty of names) {
      if (!Object.hasOwn(value, missingProperty)) isValid = fail(run, schema, 'required', { missingProperty });
    }
    return isValid;
  },
  dependentRequired: (needs: Record<string, string[]>) => {
    const checks = Object.entries(needs).map(([name, names]) => ({ name, check: compile({ required: names }) }));
    return (value, run) => {
      if (!isObject(value)) return true;
      step(run, checks.length / 8);
      return checks.filter(({ name, check }) => Object.hasOwn(value, name) && !check(value, run)).length === 0;
    };
  },
  properties: (schemas: JsonObject) => {
    const checks = compileMap(schemas);
    return (value, run) => {
      if (!isObject(value)) return true;
      step(run, checks.size / 8);
      let isValid = true;
      for (const [name, check] of checks) {
        if (Object.hasOwn(value, name) && !at(run, name, value[name]!, check)) isValid = false;
      }
      return isValid;
    };
  },
  patternProperties: (schemas: JsonObject) => {
    const checks = [...compileMap(schemas)].map(([source, check]) => ({ pattern: patternOf(source), check }));
    return (value, run) => {
      if (!isObject(value)) return true;
      let isValid = true;
      for (const name in value) {
        for (const { pattern, check } of checks) {
          if (matches(run, pattern, name) && !at(run, name, value[name]!, check)) isValid = false;
        }
      }
      return isValid;
    };
  },
  additionalProperties: (schema: Json, parent) => {
    const { properties = {}, patternProperties = {} } = parent as { [keyword: string]: JsonObject };
    const known = new Set(Object.keys(properties));
    const patterns = Object.keys(patternProperties).map(patternOf);
    const check = compile(schema);
    return (value, run) => {
      if (!isObject(value)) return true;
      let isValid = true;
      for (const name in value) {
        step(run, 1);
        if (known.has(name) || patterns.some(pattern => matches(run, pattern, name))) continue;
        if (schema === false) {
          isValid = fail(run, parent, 'additionalProperties', { additionalProperty: name });
        } else if (!at(run, name, value[name]!, check)) isValid = false;
      }
      return isValid;
    };
  },
  propertyNames: (schema: Json) => {
    const check = compile(schema);
    return (value, run) => {
      if (!isObject(value)) return true;
      let isValid = true;
      for (const name in value) if (!at(run, name, name, check)) isValid = false;
      return isValid;
    };
  },

  allOf: (schemas: Json[]) => {
    const checks = schemas.map(compile);
    return (value, run) => checks.filter(check => !check(value, run)).length === 0;
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
      return tellBranches(run, branches);
    };
  },
  oneOf: (schemas: Json[], schema) => {
    const checks = schemas.map(compile);
    return (value, run) => {
      const branches = checks.map(check => mistakesOf(run, value, check));
      const wrong = branches.filter(mistakes => mistakes !== undefined);
      if (wrong.length === checks.length - 1) return true;
      if (wrong.length === checks.length) return tellBranches(run, wrong);
      return fail(run, schema, 'oneOf', {}, 'has more than one of the forms of which it may have one');
    };
  },
  not: (schema: Json, parent) => {
    const check = compile(schema);
    return (value, run) =>
      mistakesOf(run, value, check) !== undefined || fail(run, parent, 'not', {}, 'has a form that is not allowed');
  },
  if: (condition: Json, parent) => {
    const [check, isTrue, isFalse] = [condition, parent.then ?? true, parent.else ?? true].map(compile);
    return (value, run) => (mistakesOf(run, value, check!) ? isFalse! : isTrue!)(value, run);
  },
};

function tellBranches(run: Run, branches: Mistake[][]): false {
  const all = branches.flat();
  const nearest = branches.toSorted((a, b) => a.length - b.length)[0] ?? [];
  run.errors.push(...(all.length <= mostOfUnion ? all : nearest));
  return false;
}

/** For comparing: one text for equal values. */
function textOf(run: Run, value: Json): string {
  const text = canonicalJson(value);
  step(run, text.length / 16);
  return text;
}

let formats: Map<string, (text: string) => boolean> | undefined;

function formatOf(name: string): (text: string) => boolean {
  formats ??= readFormats();
  const test = formats.get(name)!;
  return text => text.length <= longestFormatted && test(text);
}

function readFormats(): Map<string, (text: string) => boolean> {
  const ajv = createAjv(false);
  return new Map(
    schemaFormats.map(name => {
      const format = ajv.formats[name] as { validate?: unknown };
      const known = format.validate ?? format;
      return [name, known instanceof RegExp ? text => known.test(text) : (known as (text: string) => boolean)];
    }),
  );
}
