/**
 * Generates the API types for @belfry/client from openapi.json, with the operations that API keys can use. Generated with every build
 * and check, never committed.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { errorCodes } from '../src/core/errors.ts';
import { typesOf } from './console-types.ts';

interface OpenApiDocument {
  components: { schemas: object };
  paths: Record<string, Record<string, { security?: Record<string, string[]>[]; responses: Record<string, object> }>>;
}

const root = new URL('../', import.meta.url);

export async function writeSdkTypes(): Promise<void> {
  const document = JSON.parse(await readFile(new URL('openapi.json', root), 'utf8')) as OpenApiDocument;
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const forKeys = Object.entries(operations).filter(([, { security = [] }]) =>
      security.some(way => 'ApiKeyAuthentication' in way),
    );
    return [path, Object.fromEntries(forKeys.map(([name, operation]) => [name, withoutErrors(operation)]))] as const;
  });
  const withKeys = Object.fromEntries(paths.filter(([, operations]) => Object.keys(operations).length > 0));
  const banner = '/** Generated from openapi.json by scripts/sdk-types.ts; never edited by hand. */';
  const { schemas } = document.components;
  const types = await typesOf(JSON.stringify({ ...document, components: { schemas }, paths: withKeys }));
  // Methods that a path does not have.
  const short = types.replaceAll(/^ {8}(?:get|put|post|delete|options|head|patch|trace)\?: never;\n/gm, '');
  const codes = errorCodes.map(code => `  | '${code}'`).join('\n');
  await writeFile(new URL('sdk/client/src/api.ts', root), `${banner}\n${short}\nexport type ErrorCode =\n${codes};\n`);
}

/** Errors have one type, `BelfryError`. Without them, the file is a quarter smaller. */
function withoutErrors<T extends { responses: Record<string, object> }>(operation: T): T {
  const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 300);
  return { ...operation, responses: Object.fromEntries(successes) };
}

if (import.meta.main) await writeSdkTypes();
