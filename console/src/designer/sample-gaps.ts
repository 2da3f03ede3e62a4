/** Puts what a sample lacks into it: `order.total` becomes `{ order: { total: "total" } }`. */
type Context = Record<string, unknown>;

/** Names that the service gives: a sample need not have them. */
const given = [
  'user',
  'membership',
  'event',
  'application',
  'project',
  'organization',
  'occurrence',
  'channel',
  'address',
  'now',
];

export function fillIn(context: Context, names: readonly string[]): Context {
  return names.reduce((filled, name) => {
    const [first = '', ...rest] = name.replace(/^context\./, '').split('.');
    return first === '' || given.includes(first) ? filled : put(filled, first, rest);
  }, context);
}

/** The sample, and below it what the event's schema knows besides: all of it is offered while somebody writes. */
export function withExample(example: Context, context: Context): Context {
  const merged = Object.entries(context).map(([key, value]) => [
    key,
    isObject(value) ? deepen(example[key], value) : value,
  ]);
  return { ...example, ...Object.fromEntries(merged) };
}

function deepen(example: unknown, value: Context): Context {
  return isObject(example) ? withExample(example, value) : value;
}

function isObject(value: unknown): value is Context {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function put(context: Context, key: string, rest: string[]): Context {
  const [next, ...others] = rest;
  const present = context[key];
  if (next === undefined) return { ...context, [key]: present ?? key };
  const inner = isObject(present) ? present : {};
  return { ...context, [key]: put(inner, next, others) };
}
