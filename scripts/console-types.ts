/**
 * Generates the API types for the console from openapi.json, with openapi-typescript. Adds lists that the API only names: states, texts
 * of reasons and sign-in errors, defaults and limits of fields, channel types, webhook event types, presets of sources, time zones, and template tags and filters. Generated with every
 * build, never committed.
 */

import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { media } from '../src/core/configuration/nouns/schemas.ts';
import { webhookTypes } from '../src/core/configuration/webhooks.ts';
import { reasons } from '../src/core/decision/decide.ts';
import { outcomes } from '../src/core/decision/outcome.ts';
import { listTimezones } from '../src/core/decision/quiet-hours.ts';
import { errorList } from '../src/core/errors.ts';
import {
  channelStates,
  deliveryStates,
  occurrenceStates,
  refinedStates,
  type State,
} from '../src/core/history/states.ts';
import { filters } from '../src/core/render/template/filters.ts';
import { tags } from '../src/core/render/template/template.ts';
import { sourcePresets } from '../src/core/sources/presets/index.ts';

const root = new URL('../', import.meta.url);
const target = new URL('console/src/api-types.ts', root);

export async function writeConsoleTypes(): Promise<void> {
  const openapi = await readFile(new URL('openapi.json', root), 'utf8');
  const signIn = errorList.filter(({ code }) => /^(oidc|session)\./.test(code)).map(({ code, title }) => [code, title]);
  const values = [
    textsOf('reasons', reasons),
    textsOf('signInProblems', Object.fromEntries(signIn)),
    stateType,
    statesOf('deliveryStates', deliveryStates),
    statesOf('occurrenceStates', occurrenceStates),
    statesOf('channelStates', channelStates),
    listOf('refinedStates', Object.keys(refinedStates)),
    listOf('outcomes', outcomes),
    formFieldsOf(JSON.parse(openapi)),
    listOf('media', media),
    listOf('webhookTypes', webhookTypes),
    textsOf(
      'sourcePresets',
      Object.fromEntries(Object.entries(sourcePresets).map(([name, { title }]) => [name, title])),
    ),
    listOf('timezones', listTimezones()),
    listOf('templateFilters', Object.keys(filters).sort()),
    listOf('templateTags', tags.filter(name => name !== '#').sort()),
  ];
  const inputs = [openapi, ...values, await readFile(new URL(import.meta.url), 'utf8')];
  const hash = createHash('sha256').update(inputs.join('\0')).digest('hex');
  const banner = `/** Generated from openapi.json by scripts/console-types.ts; never edited by hand. ${hash} */\n`;
  const present = await readFile(target, 'utf8').catch(() => '');
  // Generating takes a second or two, and usually nothing has changed.
  if (present.startsWith(banner)) return;
  await writeFile(target, [banner, await typesOf(openapi), ...values].join('\n'));
}

export async function typesOf(openapi: string): Promise<string> {
  // openapi-typescript needs the compiler API of TypeScript 5, which TypeScript 7 does not have.
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
  });
  try {
    const { default: openapiTS, astToString } = await import('openapi-typescript');
    const nodes = await openapiTS(openapi, {
      rootTypes: true,
      rootTypesNoSchemaPrefix: true,
      // A request may omit fields with a default.
      defaultNonNullable: false,
      emptyObjectsUnknown: true,
    });
    return astToString(nodes);
  } finally {
    hooks.deregister();
  }
}

const stateType =
  'export interface State { name: string; color: string; meaning: string; until?: string; end?: string; moving?: true }\n';

/** The bodies whose defaults and limits forms use. */
const bodies = [
  'NewChannel',
  'NewCategory',
  'NewEvent',
  'NewHeartbeat',
  'NewWatch',
  'WatchChanges',
  'NewLayout',
  'NewNotification',
  'NewSchedule',
  'NewSource',
  'NewWebhook',
  'OrganizationChanges',
];

interface FieldSchema {
  type?: string | string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  properties?: Record<string, FieldSchema>;
  items?: FieldSchema;
}

/** Defaults and limits by field; those of a part of a field are named `throttle.max`. */
function formFieldsOf({ components }: { components: { schemas: Record<string, FieldSchema> } }): string {
  const fieldsOf = ({ properties = {}, items }: FieldSchema, path = ''): [string, object][] => [
    ...(items ? fieldsOf(items, path) : []),
    ...Object.entries(properties).flatMap(([name, schema]): [string, object][] => {
      const { default: value, minimum: min, maximum: max, maxLength } = schema;
      return [[`${path}${name}`, { default: value, min, max, maxLength }], ...fieldsOf(schema, `${path}${name}.`)];
    }),
  ];
  const all = bodies.map(name => [name, Object.fromEntries(fieldsOf(components.schemas[name]!))]);
  const type = 'Record<string, { default?: unknown; min?: number; max?: number; maxLength?: number }>';
  return `export const formFields: Record<${bodies.map(name => `'${name}'`).join(' | ')}, ${type}> = ${JSON.stringify(Object.fromEntries(all), null, 2)};\n`;
}

function statesOf(name: string, states: Record<string, State>): string {
  return `export const ${name}: Record<string, State> = ${JSON.stringify(states, null, 2)};\n`;
}

function textsOf(name: string, texts: Record<string, string>): string {
  return `export const ${name}: Record<string, string> = ${JSON.stringify(texts, null, 2)};\n`;
}

function listOf(name: string, values: readonly string[]): string {
  return `export const ${name}: string[] = ${JSON.stringify(values)};\n`;
}

if (import.meta.main) await writeConsoleTypes();
