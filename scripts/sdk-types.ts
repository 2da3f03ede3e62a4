/**
 * The API's types for @belfry/client, from openapi.json: what a key can do. Generated with every build and check, never
 * committed.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { errorCodes } from '../src/core/errors.ts';
import { typesOf } from './console-types.ts';

interface OpenApiDocument {
  paths: Record<string, Record<string, { security?: Record<string, string[]>[] }>>;
}

const root = new URL('../', import.meta.url);

export async function writeSdkTypes(): Promise<void> {
  const document = JSON.parse(await readFile(new URL('openapi.json', root), 'utf8')) as OpenApiDocument;
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const ofKeys = Object.entries(operations).filter(([, { security = [] }]) =>
      security.some(way => 'ApiKeyAuthentication' in way),
    );
    return [path, Object.fromEntries(ofKeys)] as const;
  });
  const known = Object.fromEntries(paths.filter(([, operations]) => Object.keys(operations).length > 0));
  const banner = '/** Generated from openapi.json by scripts/sdk-types.ts; never edited by hand. */';
  const types = await typesOf(JSON.stringify({ ...document, paths: known }));
  const codes = errorCodes.map(code => `  | '${code}'`).join('\n');
  await writeFile(new URL('sdk/client/src/api.ts', root), `${banner}\n${types}\nexport type ErrorCode =\n${codes};\n`);
}

if (import.meta.main) await writeSdkTypes();
