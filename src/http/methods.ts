/**
 * 405 with `Allow` for a known path that is asked with another method. By patterns, looked through when no route was
 * found: to add a route for each of the 34 methods on every path took a sixth of a start and several megabytes.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';

interface Known {
  path: string;
  pattern: RegExp;
  /** Of the routes. */
  methods: string[];
  allow: string[];
}

/** Adds OPTIONS to every path; returns the check for a request that found no route. */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: readonly { path: string; method: string }[],
): (request: FastifyRequest) => void {
  const known: Known[] = [...Map.groupBy(routes, route => route.path)].map(([path, group]) => {
    const methods = group.map(route => route.method);
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    return { path, pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+').replace(/\/$/, '/?')}$`), methods, allow };
  });
  const partsOf = (path: string) => path.split('/').length;
  const alike = Map.groupBy(known, ({ path }) => partsOf(path));
  for (const { path, allow } of known) {
    app.options(path, { schema: { hide: true } }, async (_request, reply) =>
      reply.code(204).header('allow', allow.join(', ')).send(),
    );
    // A fixed word where another path has a parameter: its methods are not this path's.
    const example = path.replaceAll(/:\w+/g, 'x');
    const others = alike.get(partsOf(path))!.filter(other => other.path !== path && other.pattern.test(example));
    const method = others.flatMap(other => other.methods).filter(name => !allow.includes(name));
    if (method.length === 0) continue;
    const onRequest = async (request: FastifyRequest) => refuse(request, allow);
    app.route({ method, url: path, schema: { hide: true }, onRequest, handler: () => {} });
  }
  return request => {
    const path = request.url.split('?')[0]!;
    const found = known.find(({ pattern }) => pattern.test(path));
    if (found) refuse(request, found.allow);
  };
}

function refuse({ method }: FastifyRequest, allow: string[]): never {
  throw new AppError('request.method', `${method} is not for this path: it takes ${allow.join(', ')}`, { allow });
}
