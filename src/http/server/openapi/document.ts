/** Improves the generated OpenAPI document for readers: shared error responses, simple unions, examples, sorted parameters. */
import { lookUp } from '../../../core/lookup.ts';

interface Schema {
  [keyword: string]: unknown;
  anyOf?: Schema[];
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  description?: string;
  required: boolean;
  schema: Schema;
}

interface Answer {
  $ref?: string;
  description?: string;
  headers?: Record<string, object>;
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, Answer>;
}

export interface OpenApiDocument {
  components: { schemas: Record<string, Schema>; responses?: Record<string, Answer> };
  paths: Record<string, Record<string, Operation>>;
}

const text = { type: 'string' };

const problems: Record<string, Answer & { name: string }> = {
  307: {
    name: 'Moved',
    description: 'The organization has moved to another cell of the installation.',
    headers: { Location: { description: 'The same path in the other cell.', schema: text } },
  },
  400: { name: 'Invalid', description: 'The request is invalid; `errors` names the fields.' },
  401: {
    name: 'Unauthorized',
    description: 'The API key is missing, invalid, revoked or expired, or there is no session.',
    headers: { 'WWW-Authenticate': { description: 'The authentication scheme: `Key`.', schema: text } },
  },
  403: { name: 'Forbidden', description: 'The API key or the role lacks the permission.' },
  404: { name: 'NotFound', description: 'A resource in the path was not found, or you do not have access to it.' },
  408: { name: 'Timeout', description: 'The request was not received in time.' },
  409: {
    name: 'Conflict',
    description: 'The resource already exists, is in use, or has ended; `uses` may list what uses it.',
  },
  412: { name: 'Stale', description: 'The resource has changed since the state that `If-Match` names.' },
  413: { name: 'TooLarge', description: 'The body exceeds the size limit of this endpoint.' },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The media type of the body is not supported, or it has a `Content-Encoding`.',
  },
  429: {
    name: 'RateLimited',
    description: 'The caller exceeded its rate limit.',
    headers: { 'Retry-After': { description: 'Seconds to wait before retrying.', schema: { type: 'integer' } } },
  },
  431: { name: 'HeadersTooLarge', description: 'The request headers are too large.' },
  500: { name: 'Failed', description: 'An internal error occurred; find it in the server log by `request_id`.' },
  503: {
    name: 'Unavailable',
    description: 'Belfry, or a service it depends on, is temporarily unavailable: try again.',
  },
};

const nextPage = { Link: { description: 'With `limit`: the URL of the next page, `rel="next"`.', schema: text } };

/** Examples by schema name; a test checks that each is valid. */
const examples: Record<string, unknown> = {
  Trigger: {
    context: { order: 'A-1', amount: '12 EUR' },
    options: { channels: ['mail'], delay: '10m', idempotency_key: 'order-A-1-paid' },
  },
  NewUser: { email: 'jane@acme.test', first_name: 'Jane', last_name: 'Doe', custom_fields: { tier: 'gold' } },
  UserUpdate: { locked: false, custom_fields: { tier: 'silver' }, _mode: 'MERGE' },
  NewAddress: { name: 'phone', value: '+15555550100' },
  NewDistributionList: { name: 'Customers' },
  Recipients: ['jane@acme.test', 'joe@acme.test'],
  NewKey: { name: 'shop', permissions: ['event:trigger'], expires_at: '2030-01-31T09:00:00Z' },
};

export function improve(document: OpenApiDocument): OpenApiDocument {
  const schemas = mapValues(document.components.schemas, (schema, name) => ({
    ...simplify(schema),
    ...(Object.hasOwn(examples, name) && { examples: [lookUp(examples, name)] }),
  }));
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  const responses = Object.fromEntries(
    Object.values(problems).map(({ name, ...answer }) => [name, { ...answer, content }]),
  );
  const improved = (operation: Operation, method: string) => improveOperation(operation, method, schemas);
  return {
    ...document,
    components: { ...document.components, schemas, responses },
    paths: mapValues(document.paths, path => mapValues(path, improved)),
  };
}

function improveOperation(operation: Operation, method: string, schemas: Record<string, Schema>): Operation {
  const { parameters = [], requestBody, responses, ...rest } = operation;
  const has = (location: Parameter['in']) => parameters.some(parameter => parameter.in === location);
  const isClosed = operation.security?.length !== 0;
  const isList = parameters.some(parameter => parameter.name === 'cursor');
  const reads = method === 'get';
  // Error responses that the route declares are replaced by the shared ones.
  const [own, answers] = [true, false].map(failed =>
    Object.entries(responses).filter(([status]) => Number(status) >= 400 === failed),
  ) as [[string, Answer][], [string, Answer][]];
  const statuses = new Set([
    ...(parameters.some(({ name }) => name === 'org') ? [307] : []),
    // A path can be badly encoded, and a body is parsed even if the endpoint has none.
    ...(!reads || parameters.length > 0 ? [400] : []),
    ...(isClosed || requestBody ? [401] : []),
    // State-changing requests from other websites are rejected.
    ...(isClosed || !reads ? [403] : []),
    ...(has('path') ? [404] : []),
    // Every resource that can be changed supports If-Match.
    ...(isClosed && has('path') && ['put', 'patch', 'delete'].includes(method) ? [412] : []),
    ...(reads ? [] : [413, 415]),
    ...[408, 429, 431, 500, 503],
    ...own.map(([status]) => Number(status)),
  ]);
  return {
    ...rest,
    ...(parameters.length > 0 && { parameters: sortParameters(parameters) }),
    ...(requestBody && { requestBody: { ...requestBody, required: isBodyRequired(requestBody, schemas) } }),
    responses: {
      // Generators expect a success of every operation, and their clients follow redirects.
      ...('302' in responses && { 200: { description: 'The page that the redirect leads to.' } }),
      ...mapValues(Object.fromEntries(answers), ({ content, ...answer }) => ({
        ...answer,
        ...(isList && { headers: nextPage }),
        content: mapValues(content ?? {}, media => ({ ...media, schema: withoutDescription(simplify(media.schema)) })),
      })),
      ...Object.fromEntries(
        [...statuses].map(status => [
          status,
          { $ref: `#/components/responses/${lookUp(problems, String(status))!.name}` },
        ]),
      ),
    },
  };
}

/** A body whose fields are all optional can be omitted. */
function isBodyRequired({ content }: NonNullable<Operation['requestBody']>, schemas: Record<string, Schema>): boolean {
  const { schema } = Object.values(content)[0]!;
  const named = schemas[String(schema.$ref).split('/').at(-1)!] ?? schema;
  return named.type !== 'object' || Array.isArray(named.required);
}

function sortParameters(parameters: Parameter[]): Parameter[] {
  const locations = ['path', 'query', 'header'];
  return parameters
    .toSorted((a, b) => locations.indexOf(a.in) - locations.indexOf(b.in))
    .map(({ name, in: location, description, required, schema }) => ({
      name: location === 'header' ? name.replaceAll(/\b[a-z]/g, letter => letter.toUpperCase()) : name,
      in: location,
      ...(description && { description }),
      required,
      schema: simplify(schema),
    }));
}

/**
 * Turns `anyOf` of constants into `enum`, and `anyOf` of a type and null into a nullable type. Our own keyword gets the prefix of
 * extensions, because generators refuse unknown ones.
 */
function simplify(schema: Schema): Schema {
  const { patternHint, ...standard } = schema;
  const simple = mapValues(standard, value => {
    if (Array.isArray(value)) return value.map(item => (isObject(item) ? simplify(item) : item));
    return isObject(value) ? simplify(value) : value;
  }) as Schema;
  if (typeof patternHint === 'string') simple['x-pattern-hint'] = patternHint;
  const { anyOf, ...rest } = simple;
  if (!anyOf) return simple;
  if (anyOf.every(option => 'const' in option)) {
    return { type: anyOf[0]!.type, enum: anyOf.map(option => option.const), ...rest };
  }
  const [something, nothing] = anyOf;
  if (anyOf.length === 2 && nothing?.type === 'null' && typeof something?.type === 'string') {
    return { ...something, type: [something.type, 'null'], ...rest };
  }
  return simple;
}

/** The response around it has the same description. */
function withoutDescription({ description, ...schema }: Schema): Schema {
  return schema;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues<A, B>(object: Record<string, A>, map: (value: A, key: string) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}
