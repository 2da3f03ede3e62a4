/**
 * Answers 405 with `Allow` for an existing path that does not support the method. Patterns are matched when no route was
 * found: a route for each of the 34 methods on every path made a start a sixth slower and took several megabytes.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';

/** Adds OPTIONS to every path; returns the check for a request that found no route. */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: readonly { path: string; method: string }[],
): (request: FastifyRequest) => void {
  const paths = [...Map.groupBy(routes, route => route.path)].map(([path, group]) => {
    const methods = group.map(route => route.method);
    const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    return { path, pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+').replace(/\/$/, '/?')}$`), methods, allow };
  });
  const countParts = (path: string) => path.split('/').length;
  const pathsByLength = Map.groupBy(paths, ({ path }) => countParts(path));
  for (const { path, allow } of paths) {
    app.options(path, { schema: { hide: true } }, async (_request, reply) =>
      reply.code(204).header('allow', allow.join(', ')).send(),
    );
    // A fixed word may match another path's parameter: the methods of that path do not apply to this one.
    const example = path.replaceAll(/:\w+/g, 'x');
    const others = pathsByLength
      .get(countParts(path))!
      .filter(other => other.path !== path && other.pattern.test(example));
    const method = others.flatMap(other => other.methods).filter(name => !allow.includes(name));
    if (method.length === 0) continue;
    const onRequest = async (request: FastifyRequest) => refuse(request, allow);
    app.route({ method, url: path, schema: { hide: true }, onRequest, handler: () => {} });
  }
  return request => {
    const path = request.url.split('?')[0]!;
    const found = paths.find(({ pattern }) => pattern.test(path));
    if (found) refuse(request, found.allow);
  };
}

function refuse({ method }: FastifyRequest, allow: string[]): never {
  throw new AppError('request.method', `${method} is not allowed on this path: use ${allow.join(', ')}`, { allow });
}
