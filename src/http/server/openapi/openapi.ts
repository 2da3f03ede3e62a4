/** Serves the OpenAPI document, and describes each route for it. */
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { isPermission } from '../../../core/identity/permissions.ts';
import { parametersOf, pathParameters } from '../../resolve.ts';
import type { Route } from '../route.ts';
import { ListQuery, Problem } from '../schemas.ts';

const file = new URL('../../../../openapi.json', import.meta.url);

/** Serves the file that `npm run generate` wrote: generating it at each start would cost time and 5 MB. */
export function registerOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await readFile(file)),
  );
}

/** Returns the schema by which Fastify validates, serializes and documents a route. */
export function schemaOf(route: Route): object {
  const names = parametersOf(route.path);
  const answer = 'list' in route ? Type.Array(reference(route.item)) : reference(route.answer);
  const schema = {
    operationId: route.id,
    summary: route.summary,
    description: [route.description, describePermission(route)].filter(Boolean).join('\n\n'),
    tags: [route.tag],
    security: securityOf(route),
    params: names.length
      ? Type.Object(Object.fromEntries(names.map(name => [name, pathParameters[name].schema])))
      : undefined,
    querystring: 'list' in route ? listQuery(route.query) : route.query,
    headers: route.headers,
    body:
      route.body &&
      (route.consumes ? { content: { [route.consumes]: { schema: route.body } } } : reference(route.body)),
    // openapi-document.ts adds the error responses that follow from method, path and body.
    response: {
      [route.status]: {
        description: outcomes[route.status],
        ...(route.produces ? { content: { [route.produces]: { schema: answer } } } : answer),
      },
      ...Object.fromEntries((route.problems ?? []).map(status => [status, reference(Problem)])),
    },
  };
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}

const outcomes = { 200: 'OK.', 201: 'Created.', 302: 'Redirect.' };

/** OpenAPI 3.1 allows listing the required permissions here. */
function securityOf({ permission }: Route): Record<string, string[]>[] {
  if (permission === 'public') return [];
  if (permission === 'account') return [{ SessionCookie: [] }];
  const session = { SessionCookie: [permission] };
  return isPermission(permission) ? [{ ApiKeyAuthentication: [permission] }, session] : [session];
}

function describePermission({ permission }: Route): string {
  if (permission === 'public') return 'No authentication required.';
  if (permission === 'account') return 'Requires a signed-in account.';
  return `Permission: \`${permission}\`.`;
}

/** Adds the paging parameters to the filters of a list. */
function listQuery(filters: TSchema | undefined): TSchema {
  const { properties = {} } = (filters ?? {}) as { properties?: Record<string, TSchema> };
  return Type.Object({ ...ListQuery.properties, ...properties });
}

/** Returns every named schema that the routes use. */
export function namedSchemas(routes: readonly Route[]): TSchema[] {
  const used = routes.flatMap(route => [route.body, 'list' in route ? route.item : route.answer]);
  return [...new Set([Problem, ...used])].filter(schema => schema !== undefined && '$id' in schema) as TSchema[];
}

/** Replaces a named schema by a reference, so that the document contains it once. */
function reference(schema: TSchema): TSchema {
  const { $id } = schema as { $id?: string };
  return $id ? ({ $ref: `${$id}#` } as unknown as TSchema) : schema;
}
