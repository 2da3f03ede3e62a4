/**
 * The API's types for the console, which openapi-typescript writes from openapi.json. With them go what the API only
 * names: texts for its reasons and for refused sign-ins, the channel types, what webhooks can be told, the time zones, and what templates may use. Generated with
 * every build, never committed.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { media } from '../src/core/configuration/document.ts';
import { reasons } from '../src/core/decide.ts';
import { errorList } from '../src/core/errors.ts';
import { listTimezones } from '../src/core/quiet-hours.ts';
import { tags } from '../src/core/render/template.ts';
import { filters } from '../src/core/render/template-filters.ts';
import { webhookTypes } from '../src/core/webhooks.ts';

const root = new URL('../', import.meta.url);
const target = new URL('console/src/api-types.ts', root);

export async function writeConsoleTypes(): Promise<void> {
  const openapi = await readFile(new URL('openapi.json', root), 'utf8');
  const signIn = errorList.filter(({ code }) => /^(oidc|session)\./.test(code)).map(({ code, title }) => [code, title]);
  const values = [
    textsOf('reasons', reasons),
    textsOf('signInProblems', Object.fromEntries(signIn)),
    listOf('media', media),
    listOf('webhookTypes', webhookTypes),
    listOf('timezones', listTimezones()),
    listOf('templateFilters', Object.keys(filters).sort()),
    listOf('templateTags', tags.filter(name => name !== '#').sort()),
  ];
  const inputs = [openapi, ...values, await readFile(new URL(import.meta.url), 'utf8')];
  const hash = createHash('sha256').update(inputs.join('\0')).digest('hex');
  const banner = `/** Generated from openapi.json by scripts/console-types.ts; never edited by hand. ${hash} */\n`;
  const present = await readFile(target, 'utf8').catch(() => '');
  // Writing them takes a second or two, and most of the time nothing has changed.
  if (present.startsWith(banner)) return;
  await writeFile(target, [banner, await typesOf(openapi), ...values].join('\n'));
}

export async function typesOf(openapi: string): Promise<string> {
  // openapi-typescript is made for the compiler API of TypeScript 5, which TypeScript 7 does not have.
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
  });
  try {
    const { default: openapiTS, astToString } = await import('openapi-typescript');
    const nodes = await openapiTS(openapi, {
      rootTypes: true,
      rootTypesNoSchemaPrefix: true,
      // A request may leave out what has a default.
      defaultNonNullable: false,
      emptyObjectsUnknown: true,
    });
    return astToString(nodes);
  } finally {
    hooks.deregister();
  }
}

function textsOf(name: string, texts: Record<string, string>): string {
  return `export const ${name}: Record<string, string> = ${JSON.stringify(texts, null, 2)};\n`;
}

function listOf(name: string, words: readonly string[]): string {
  return `export const ${name}: string[] = ${JSON.stringify(words)};\n`;
}

if (import.meta.main) await writeConsoleTypes();
