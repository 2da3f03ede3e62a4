/** Puts what a sample lacks into it: `order.total` becomes `{ order: { total: "total" } }`. */
type Context = Record<string, unknown>;

/** Names that the service gives; a context cannot. */
const given = ['user', 'event', 'application', 'project', 'organization', 'occurrence', 'channel', 'address', 'now'];

export function fillIn(context: Context, names: readonly string[]): Context {
  return names.reduce((filled, name) => {
    const [first = '', ...rest] = name.replace(/^context\./, '').split('.');
    return first === '' || given.includes(first) ? filled : put(filled, first, rest);
  }, context);
}

function put(context: Context, key: string, rest: string[]): Context {
  const [next, ...others] = rest;
  const present = context[key];
  if (next === undefined) return { ...context, [key]: present ?? key };
  const inner = typeof present === 'object' && present !== null && !Array.isArray(present) ? (present as Context) : {};
  return { ...context, [key]: put(inner, next, others) };
}
