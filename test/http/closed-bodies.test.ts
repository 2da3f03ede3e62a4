/** A misspelled field is refused by name: every object in every request body lists its fields, or says that any are allowed. */
import { expect, test } from 'vitest';
import { routes } from '../../src/http/routes.ts';
import { namedSchemas } from '../../src/http/server/openapi/openapi.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema | Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  oneOf?: Schema[];
}

/**
 * Objects that accept other fields too: what a browser creates for a passkey, and the settings of a provider, which the
 * provider's own schema checks.
 */
const open = /^(addPasskey|signInWithPasskey)\/response|^finishSignIn\/passkey|\/providers\/0$/;

const named = namedSchemas(routes) as (Schema & { $id?: string })[];

function children({ properties, patternProperties, additionalProperties, items, anyOf, allOf, oneOf }: Schema) {
  return Object.entries({
    ...Object.fromEntries(Object.entries({ ...properties, ...patternProperties }).map(([k, v]) => [`/${k}`, v])),
    ...(typeof additionalProperties === 'object' && { '/*': additionalProperties }),
    ...(items && !Array.isArray(items) && { '/0': items }),
    ...Object.fromEntries([...(anyOf ?? []), ...(allOf ?? []), ...(oneOf ?? [])].map((v, i) => [`|${i}`, v])),
  });
}

function findOpen(schema: Schema, at: string): string[] {
  if (schema.$ref) {
    const target = named.find(each => `${each.$id}#` === schema.$ref);
    return findOpen(target!, at);
  }
  const isObject = schema.properties !== undefined || schema.type === 'object' || schema.type?.includes('object');
  const isMap = schema.properties === undefined && schema.additionalProperties !== undefined;
  const isOpen = isObject && schema.additionalProperties !== false && !isMap && !schema.patternProperties;
  return [...(isOpen ? [at] : []), ...children(schema).flatMap(([step, child]) => findOpen(child, at + step))];
}

test('every object in a request body refuses unknown fields, except those listed here', () => {
  const bodies = routes.flatMap(({ id, body }) => (body ? [[id, body as Schema] as const] : []));
  expect(bodies.length).toBeGreaterThan(50);
  const found = bodies.flatMap(([id, body]) => findOpen(body, id));
  expect(found.filter(at => !open.test(at))).toEqual([]);
});
