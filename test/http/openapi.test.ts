/** openapi.json is complete, matches the specification, and is what the server serves. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { routes } from '../../src/http/routes.ts';
import { findUndocumented } from '../support/api-statuses.ts';
import { endpoints } from '../support/api-table.ts';
import { testService } from '../support/database.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  items?: Schema;
  required?: string[];
  properties?: Record<string, Schema>;
  examples?: unknown[];
  anyOf?: Schema[];
}

interface Content {
  content: Record<string, { schema: Schema }>;
}

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Schema }[];
  requestBody?: Content & { required: boolean };
  responses: Record<string, Content & { description: string }>;
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const paths = document.paths as Record<string, Record<string, Operation>>;
const schemas = document.components.schemas as Record<string, Schema>;

const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([name, operation]) => {
    const method = name.toUpperCase();
    return { name: `${method} ${path}`, method, path, operation };
  }),
);

/** Returns the target of a `$ref`; undefined if it does not exist. */
function follow(pointer: string): unknown {
  if (!pointer.startsWith('#/')) return undefined;
  const steps = pointer.slice(2).split('/');
  return steps.reduce((at: Record<string, unknown> | undefined, step) => at?.[step] as never, document);
}

function resolve<T extends object>(value: T): T {
  const { $ref } = value as { $ref?: string };
  return $ref ? (follow($ref) as T) : value;
}

function collect(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [...(name === key ? [inner] : []), ...collect(inner, key)]);
}

const routeOf = ({ operationId }: Operation) => routes.find(route => route.id === operationId)!;
const inBraces = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}');

describe('the document', () => {
  let service: Service;
  beforeAll(async () => {
    service = await testService({ BELFRY_ROLE: 'api' });
  });
  afterAll(() => service.stop());

  test('has no keyword that generators do not know, names a server, and has a success for each operation', () => {
    expect(collect(document, 'patternHint')).toEqual([]);
    expect(collect(document, 'x-pattern-hint').length).toBeGreaterThan(0);
    expect(document.servers).toEqual([{ url: '/', description: expect.any(String) }]);
    const isSuccess = (status: string) => status.startsWith('2');
    const without = operations.filter(({ operation }) => !Object.keys(operation.responses).some(isSuccess));
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  test('is what the server serves', async () => {
    const answer = await fetch(`${service.address}/openapi.json`);
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(await answer.json(), 'run npm run generate').toEqual(document);
  });

  test('is OpenAPI 3.1 without host-specific content', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d$/);
    expect(document.info).toMatchObject({ title: 'Belfry', version: expect.any(String) });
    expect(JSON.stringify(document)).not.toMatch(/127\.0\.0\.1|localhost/);
    expect(document.components.securitySchemes.ApiKeyAuthentication).toMatchObject({ type: 'apiKey', in: 'header' });
  });

  test('has no broken reference', () => {
    const references = collect(document, '$ref') as string[];
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter(reference => follow(reference) === undefined)).toEqual([]);
  });

  test('gives every schema a readable name', () => {
    expect(Object.keys(schemas).filter(name => !/^([A-Z][a-z]+)+$/.test(name))).toEqual([]);
    expect(collect(document, '$id')).toEqual([]);
  });

  test('simplifies unions', () => {
    const clumsy = (collect(document, 'anyOf') as Schema[][]).filter(options =>
      options.every(option => 'const' in option || option.type === 'null'),
    );
    expect(clumsy).toEqual([]);
    expect(schemas.NewUser?.properties?.custom_fields?.type).toEqual(['object', 'null']);
    expect(schemas.Trigger?.properties?.options?.properties?.priority).toMatchObject({
      type: 'string',
      enum: ['urgent', 'normal', 'bulk'],
    });
  });

  test('describes every tag that is used', () => {
    const described = document.tags.map((tag: { name: string }) => tag.name);
    const used = new Set(operations.flatMap(({ operation }) => operation.tags));
    expect([...used].filter(tag => !described.includes(tag))).toEqual([]);
  });

  test('has valid examples', () => {
    const ajv = addFormats.default(new Ajv2020({ strict: false }));
    ajv.addSchema({ $id: 'document', ...document });
    const withExamples = Object.entries(schemas).filter(([, schema]) => schema.examples);
    expect(withExamples.map(([name]) => name)).toEqual(expect.arrayContaining(['Trigger', 'NewUser']));
    for (const [name, { examples = [] }] of withExamples) {
      const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` });
      for (const example of examples) expect([name, validate(example), validate.errors]).toEqual([name, true, null]);
    }
  });

  test('has unique operation ids', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe.each(operations)('$name', ({ method, path, operation }) => {
  const parameters = operation.parameters ?? [];

  test('is described', () => {
    expect(operation.operationId).toMatch(
      method.toLowerCase() === 'patch' ? /^update[A-Z][A-Za-z]+$/ : /^[a-z][A-Za-z]+$/,
    );
    expect(operation.summary).toMatch(/\S/);
    expect(operation.tags).toHaveLength(1);
    expect(path).toMatch(/^\/api\/.*\/$/);
  });

  test('states the required permission', () => {
    const { permission } = routeOf(operation);
    const named = [permission];
    if (permission === 'public') expect(operation.security).toEqual([]);
    else if (permission === 'account') expect(operation.security).toEqual([{ SessionCookie: [] }]);
    else if (permission === 'organization:create' || permission === 'limit:write')
      expect(operation.security).toEqual([{ SessionCookie: named }]);
    else expect(operation.security).toEqual([{ ApiKeyAuthentication: named }, { SessionCookie: named }]);
    const words = { public: 'No authentication required.', account: 'Requires a signed-in account.' };
    expect(operation.description).toContain(words[permission as 'public'] ?? `\`${permission}\``);
  });

  test('has the parameters of its path, described', () => {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const described = parameters.filter(parameter => parameter.in === 'path');
    expect(described.map(parameter => parameter.name)).toEqual(named);
    expect(described.every(parameter => parameter.required && parameter.description)).toBe(true);
    expect(path).not.toContain(':');
  });

  test('lists its error responses', () => {
    const expected = [
      ...(operation.security.length > 0 ? ['401', '403'] : []),
      ...['408', '429', '431', '500', '503'],
      ...(path.includes('{') ? ['400', '404'] : []),
      ...(method === 'GET' ? [] : ['400', '413', '415']),
    ];
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(expected));
    for (const [status, answer] of Object.entries(operation.responses)) {
      const { description, content } = resolve(answer);
      expect(description).toMatch(/\S/);
      if (Number(status) < 400) continue;
      expect(content).toEqual({ 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } });
    }
  });

  const schema = operation.requestBody?.content['application/json']?.schema;
  if (schema) {
    test('requires its body unless all fields are optional', () => {
      const { type, required = [] } = resolve(schema);
      expect(operation.requestBody?.required).toBe(type !== 'object' || required.length > 0);
    });
  }
});

describe.each(endpoints)('$operation ($method)', ({ method, path, permission, status, answer, body }) => {
  const operation = paths[inBraces(path)]?.[method.toLowerCase()];

  test('exists, with permission and body', () => {
    expect(operation?.security).toEqual([{ ApiKeyAuthentication: [permission] }, { SessionCookie: [permission] }]);
    expect(operation?.requestBody !== undefined).toBe(body !== undefined);
  });

  test('answers with the specified fields', () => {
    const schema = resolve(operation!.responses[status]!.content['application/json']!.schema);
    const isList = Array.isArray(answer);
    expect(schema.type).toBe(isList ? 'array' : 'object');
    const { properties = {}, required = [] } = isList ? resolve(schema.items!) : schema;
    const fields = Object.keys(isList ? answer[0] : answer).sort();
    expect(Object.keys(properties).sort()).toEqual(fields);
    expect(required.toSorted()).toEqual(fields);
  });
});

test('an undocumented response status fails the test that receives it', () => {
  const [list, cancel] = ['/api/o/acme/u/?limit=5', '/api/o/acme/occurrence/0/cancel'];
  expect(findUndocumented('GET', list, 200)).toBeUndefined();
  expect(findUndocumented('HEAD', list, 415)).toMatch(/^GET \/api\/o\/:org\/u\/ answered 415/);
  expect(findUndocumented('POST', cancel, 400)).toBeUndefined();
  expect(findUndocumented('POST', cancel, 409)).toMatch(/cancel/);
  expect(findUndocumented('POST', '/api/o/acme/k/revoke/', 409)).toMatch(/revoke/);
  expect(findUndocumented('GET', '/nowhere', 404)).toBeUndefined();
});

test('all twenty operations of the specification are checked', () => {
  expect(new Set(endpoints.map(endpoint => endpoint.number)).size).toBe(20);
});
