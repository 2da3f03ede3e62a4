/**
 * The API's types for the console, from openapi.json: one JSON Schema in the shape of openapi-fetch's `paths`, which
 * json-schema-to-typescript writes down. With them go the words for the codes that the API only names: reasons, and
 * why a sign-in by an identity provider failed; and what templates may use. Generated with every build, never committed.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { media } from '../src/core/configuration/document.ts';
import { reasons } from '../src/core/decide.ts';
import { errorList } from '../src/core/errors.ts';
import { tags } from '../src/core/render/template.ts';
import { filters } from '../src/core/render/template-filters.ts';

type Schema = Record<string, unknown>;
type Content = Record<string, { schema: Schema }>;

interface Operation {
  security?: Record<string, string[]>[];
  parameters?: { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: Schema }[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { content?: Content }>;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const root = new URL('../', import.meta.url);

export async function writeConsoleTypes(): Promise<void> {
  const document = JSON.parse(await readFile(new URL('openapi.json', root), 'utf8')) as OpenApiDocument;
  const banner = '/** Generated from openapi.json by scripts/console-types.ts; never edited by hand. */';
  const named = await typesOf(document, banner);
  const signIn = errorList.filter(({ code }) => /^(oidc|session)\./.test(code)).map(({ code, title }) => [code, title]);
  const words = [
    wordsFor('reasons', reasons),
    wordsFor('signInProblems', Object.fromEntries(signIn)),
    listOf('media', media),
    listOf('templateFilters', Object.keys(filters).sort()),
    listOf('templateTags', tags.filter(name => name !== '#').sort()),
  ];
  await writeFile(new URL('console/src/api-types.ts', root), [named, ...words].join('\n'));
}

/** `paths` as openapi-fetch wants it, and every shape with a name. */
export async function typesOf(document: OpenApiDocument, bannerComment: string): Promise<string> {
  const text = await compile(pathsSchema(document), 'paths', {
    additionalProperties: false,
    bannerComment,
    format: false,
    unknownAny: true,
    // Where a schema merely bounds the length of an array, tuples of every length would be written.
    ignoreMinAndMaxItems: true,
  });
  // The root is named by its title alone, and openapi-fetch looks for statuses as numbers.
  return text.replace(/export interface Paths\b/, 'export interface paths').replaceAll(/"(2\d\d)":/g, '$1:');
}

function wordsFor(name: string, words: Record<string, string>): string {
  return `export const ${name}: Record<string, string> = ${JSON.stringify(words, null, 2)};\n`;
}

function listOf(name: string, words: readonly string[]): string {
  return `export const ${name}: string[] = ${JSON.stringify(words)};\n`;
}

function pathsSchema({ paths, components }: OpenApiDocument): JSONSchema {
  const methods = (operations: Record<string, Operation>) => object(mapValues(operations, operationSchema));
  const schema = { ...object(mapValues(paths, methods)), definitions: components.schemas };
  const local = JSON.stringify(schema).replaceAll('#/components/schemas/', '#/definitions/');
  return JSON.parse(local) as JSONSchema;
}

function operationSchema({ parameters = [], requestBody, responses }: Operation): Schema {
  const at = (place: string) => {
    const here = parameters.filter(parameter => parameter.in === place);
    const required = here.filter(parameter => parameter.required).map(parameter => parameter.name);
    return object(Object.fromEntries(here.map(({ name, schema }) => [name, schema])), required);
  };
  const places = ['path', 'query', 'header'].filter(place => parameters.some(parameter => parameter.in === place));
  const taken = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  return object(
    {
      parameters: object(
        Object.fromEntries(places.map(place => [place, at(place)])),
        places.filter(place => place === 'path'),
      ),
      ...(requestBody && { requestBody: object({ content: contentSchema(requestBody.content) }) }),
      responses: object({
        ...Object.fromEntries(
          taken.map(([status, { content = {} }]) => [status, object({ content: contentSchema(content) })]),
        ),
        default: object({ content: object({ 'application/problem+json': { $ref: '#/definitions/Problem' } }) }),
      }),
    },
    ['parameters', 'responses', ...(requestBody?.required ? ['requestBody'] : [])],
  );
}

function contentSchema(content: Content): Schema {
  return object(mapValues(content, ({ schema }) => schema));
}

function object(properties: Record<string, Schema>, required = Object.keys(properties)): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

if (import.meta.main) await writeConsoleTypes();
