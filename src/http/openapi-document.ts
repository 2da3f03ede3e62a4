/** What the generated OpenAPI document lacks for its readers: problems told once, plain unions, examples, an order. */

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
  400: { name: 'Invalid', description: 'The request is invalid; `errors` names the fields.' },
  401: {
    name: 'Unauthorized',
    description: 'The API key is missing, unknown, revoked or expired, or nobody is signed in.',
    headers: { 'WWW-Authenticate': { description: 'How to send a key: `Key`.', schema: text } },
  },
  403: { name: 'Forbidden', description: 'The key or the role lacks the permission.' },
  404: { name: 'NotFound', description: 'Something that the path names does not exist for this caller.' },
  408: { name: 'Timeout', description: 'The request did not arrive in time.' },
  409: { name: 'Conflict', description: 'It exists already, is in use, or has ended; `uses` may tell by what.' },
  412: { name: 'Stale', description: 'It is not what `If-Match` names: somebody has changed it since.' },
  413: { name: 'TooLarge', description: 'The body is larger than this path takes.' },
  415: { name: 'UnsupportedMediaType', description: 'The body has another media type, or a `Content-Encoding`.' },
  429: {
    name: 'RateLimited',
    description: 'More requests than this caller may make.',
    headers: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } },
  },
  431: { name: 'HeadersTooLarge', description: 'The headers of the request are too large.' },
  500: { name: 'Failed', description: 'Something went wrong inside Belfry; `request_id` names it in the log.' },
  503: { name: 'Unavailable', description: 'Belfry, or something that it needs, cannot do this right now: try again.' },
};

const nextPage = { Link: { description: 'With `limit`: where the next page is, `rel="next"`.', schema: text } };

/** By the name of the schema; a test checks that each is valid. */
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

export function polish(document: OpenApiDocument): OpenApiDocument {
  const schemas = mapValues(document.components.schemas, (schema, name) => ({
    ...simplify(schema),
    ...(name in examples && { examples: [examples[name]] }),
  }));
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  const responses = Object.fromEntries(
    Object.values(problems).map(({ name, ...answer }) => [name, { ...answer, content }]),
  );
  const polished = (operation: Operation, method: string) => polishOperation(operation, method, schemas);
  return {
    ...document,
    components: { ...document.components, schemas, responses },
    paths: mapValues(document.paths, path => mapValues(path, polished)),
  };
}

function polishOperation(operation: Operation, method: string, schemas: Record<string, Schema>): Operation {
  const { parameters = [], requestBody, responses, ...rest } = operation;
  const has = (place: Parameter['in']) => parameters.some(parameter => parameter.in === place);
  const isClosed = operation.security?.length !== 0;
  const isList = parameters.some(parameter => parameter.name === 'cursor');
  const reads = method === 'get';
  // What the route itself names comes with a schema, in which all problems are the same.
  const [own, answers] = [true, false].map(failed =>
    Object.entries(responses).filter(([status]) => Number(status) >= 400 === failed),
  ) as [[string, Answer][], [string, Answer][]];
  const statuses = new Set([
    // A path can be badly encoded, and a body is read even where none is wanted.
    ...(!reads || parameters.length > 0 ? [400] : []),
    ...(isClosed || requestBody ? [401] : []),
    // Whatever changes something is refused when another website asks for it.
    ...(isClosed || !reads ? [403] : []),
    ...(has('path') ? [404] : []),
    // Of what a path names and can be changed, each can be changed as it was read.
    ...(isClosed && has('path') && ['put', 'patch', 'delete'].includes(method) ? [412] : []),
    ...(reads ? [] : [413, 415]),
    ...[408, 429, 431, 500, 503],
    ...own.map(([status]) => Number(status)),
  ]);
  return {
    ...rest,
    ...(parameters.length > 0 && { parameters: sortParameters(parameters) }),
    ...(requestBody && { requestBody: { ...requestBody, required: isNeeded(requestBody, schemas) } }),
    responses: {
      ...mapValues(Object.fromEntries(answers), ({ content, ...answer }) => ({
        ...answer,
        ...(isList && { headers: nextPage }),
        content: mapValues(content ?? {}, media => ({ ...media, schema: withoutDescription(simplify(media.schema)) })),
      })),
      ...Object.fromEntries(
        [...statuses].map(status => [status, { $ref: `#/components/responses/${problems[status]!.name}` }]),
      ),
    },
  };
}

/** A body whose fields are all optional may be left out. */
function isNeeded({ content }: NonNullable<Operation['requestBody']>, schemas: Record<string, Schema>): boolean {
  const { schema } = Object.values(content)[0]!;
  const named = schemas[String(schema.$ref).split('/').at(-1)!] ?? schema;
  return named.type !== 'object' || Array.isArray(named.required);
}

function sortParameters(parameters: Parameter[]): Parameter[] {
  const places = ['path', 'query', 'header'];
  return parameters
    .toSorted((a, b) => places.indexOf(a.in) - places.indexOf(b.in))
    .map(({ name, in: place, description, required, schema }) => ({
      name: place === 'header' ? name.replaceAll(/\b[a-z]/g, letter => letter.toUpperCase()) : name,
      in: place,
      ...(description && { description }),
      required,
      schema: simplify(schema),
    }));
}

/** `anyOf` of constants becomes `enum`, and of something and null that something which may be null. */
function simplify(schema: Schema): Schema {
  const simple = mapValues(schema, value => {
    if (Array.isArray(value)) return value.map(item => (isObject(item) ? simplify(item) : item));
    return isObject(value) ? simplify(value) : value;
  }) as Schema;
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

/** The answer around it says the same. */
function withoutDescription({ description, ...schema }: Schema): Schema {
  return schema;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues<A, B>(object: Record<string, A>, map: (value: A, key: string) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}
