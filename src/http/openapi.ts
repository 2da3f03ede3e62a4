/** The OpenAPI document, and what each route tells for it. */
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { isPermission } from '../core/permissions.ts';
import type { Route } from './route.ts';
import { ListQuery, Problem } from './schemas.ts';

const parameters: Record<string, TSchema> = {
  org: Type.String({ description: 'Slug of the organization.' }),
  prj: Type.String({ description: 'Slug of the project.' }),
  app: Type.String({ description: 'Slug of the application.' }),
  evt: Type.String({ description: 'Slug of the event.' }),
  category: Type.String({ description: 'Slug of the category.' }),
  channel: Type.String({ description: 'Slug of the channel.' }),
  username: Type.String({ description: 'Username of the user: the email in lower case.' }),
  pk: Type.Integer({ description: 'Id of the distribution list.' }),
  identifier: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
  delivery: Type.Integer({ description: 'Id of the delivery.' }),
  address: Type.Integer({ description: 'Id of the address.' }),
  member: Type.Integer({ description: 'Id of the member.' }),
  key: Type.String({ description: 'Id of the key.' }),
  message: Type.Integer({ description: 'Id of the message.' }),
  account: Type.Integer({ description: 'Id of the account.' }),
  invite: Type.Integer({ description: 'Id of the invite.' }),
  token: Type.String({ description: 'What the link ends in.' }),
  session: Type.Integer({ description: 'Id of the session.' }),
  passkey: Type.Integer({ description: 'Id of the passkey.' }),
  layout: Type.Integer({ description: 'Id of the layout.' }),
  notification: Type.Integer({ description: 'Id of the notification.' }),
  version: Type.Integer({ description: 'Number of the version.' }),
};

const file = new URL('../../openapi.json', import.meta.url);

/** As `npm run generate` wrote it: to make it anew took every start and 5 MB. */
export function registerOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await readFile(file)),
  );
}

/** What Fastify validates, serialises and documents for a route. */
export function schemaOf(route: Route): object {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const answer = 'list' in route ? Type.Array(reference(route.item)) : reference(route.answer);
  const schema = {
    operationId: route.id,
    summary: route.summary,
    description: [route.description, whoMay(route)].filter(Boolean).join('\n\n'),
    tags: [route.tag],
    security: securityOf(route),
    params: names.length ? Type.Object(Object.fromEntries(names.map(name => [name, parameters[name]!]))) : undefined,
    querystring: 'list' in route ? listQuery(route.query) : route.query,
    headers: route.headers,
    body:
      route.body &&
      (route.consumes ? { content: { [route.consumes]: { schema: route.body } } } : reference(route.body)),
    // Errors are the same everywhere: openapi-document.ts adds those that follow from the form of the route.
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

const outcomes = { 200: 'OK.', 201: 'Created.', 302: 'Go on there.' };

/** OpenAPI 3.1 lets the permissions that an operation needs stand here. */
function securityOf({ permission }: Route): Record<string, string[]>[] {
  if (permission === 'public') return [];
  if (permission === 'account') return [{ SessionCookie: [] }];
  const person = { SessionCookie: [permission] };
  return isPermission(permission) ? [{ ApiKeyAuthentication: [permission] }, person] : [person];
}

function whoMay({ permission }: Route): string {
  if (permission === 'public') return 'For anybody.';
  if (permission === 'account') return 'For people who are signed in.';
  return `Permission: \`${permission}\`.`;
}

/** Paging, and the filters of this list. */
function listQuery(filters: TSchema | undefined): TSchema {
  const { properties = {} } = (filters ?? {}) as { properties?: Record<string, TSchema> };
  return Type.Object({ ...ListQuery.properties, ...properties });
}

/** Every shape with a name that the routes use. */
export function namedSchemas(routes: readonly Route[]): TSchema[] {
  const used = routes.flatMap(route => [route.body, 'list' in route ? route.item : route.answer]);
  return [...new Set([Problem, ...used])].filter(schema => schema !== undefined && '$id' in schema) as TSchema[];
}

/** Named shapes are referred to, so that the document shows each of them once. */
function reference(schema: TSchema): TSchema {
  const { $id } = schema as { $id?: string };
  return $id ? ({ $ref: `${$id}#` } as unknown as TSchema) : schema;
}
