/** Adds missing variables to a sample context: `order.total` becomes `{ order: { total: "total" } }`. */
type Context = Record<string, unknown>;

/** Variables that the service provides, so the sample need not have them. */
const providedVariables = [
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

export function addMissingVariables(context: Context, names: readonly string[]): Context {
  return names.reduce((filled, name) => {
    const [first = '', ...rest] = name.replace(/^context\./, '').split('.');
    return first === '' || providedVariables.includes(first) ? filled : put(filled, first, rest);
  }, context);
}

/** Merges the sample over the example of the event's schema, for completions in the editor. */
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
