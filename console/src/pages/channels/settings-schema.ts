/** Interprets the JSON Schema of a provider's settings. */

export interface Schema {
  type?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
  secret?: boolean;
  /** Whether the setting decides where the secrets are sent. */
  destination?: boolean;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  required?: string[];
  dependentRequired?: Record<string, string[]>;
}

export type Values = Record<string, unknown>;

export type FieldKind =
  | 'choice'
  | 'switch'
  | 'number'
  | 'text'
  | 'long'
  | 'secret'
  | 'texts'
  | 'pairs'
  | 'group'
  | 'json';

/** Texts with a larger maximum length get a multi-line input, such as certificates and keys. */
const maxSingleLineLength = 5_000;

export function kindOf(schema: Schema): FieldKind {
  if (schema.enum) return 'choice';
  if (schema.type === 'boolean') return 'switch';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  if (schema.type === 'string') {
    if ((schema.maxLength ?? 0) > maxSingleLineLength) return 'long';
    return schema.secret ? 'secret' : 'text';
  }
  if (schema.type === 'array' && schema.items?.type === 'string') return 'texts';
  if (schema.type === 'object' && schema.properties) return 'group';
  if (schema.type === 'object' && valueOfPairs(schema)?.type === 'string') return 'pairs';
  return 'json';
}

function valueOfPairs({ patternProperties, additionalProperties }: Schema): Schema | undefined {
  const [pattern] = Object.values(patternProperties ?? {});
  return pattern ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
}

/** Texts that are set up later, if at all: another address of the API, signing in without a password, replies and bounces. */
const laterText =
  /^(endpoint|login_url|metadata_url|oauth2_.+|ehlo_name|reply_to|feedback_id|bounce_domain|imap_.+|webhook_.+)$/;

/** Whether a setting is usually left alone: optional, and with a default, a multi-line value or needed later. */
export function isAdvanced(name: string, settings: Schema): boolean {
  const schema = settings.properties?.[name];
  if (!schema || settings.required?.includes(name)) return false;
  const kind = kindOf(schema);
  if (kind === 'long' || kind === 'pairs' || kind === 'group' || kind === 'json' || kind === 'switch') return true;
  if (laterText.test(name)) return true;
  // The port has a default, but belongs to the host.
  const hasDefault = name !== 'port' && /\b(Absent|Default):/.test(schema.description ?? '');
  if (hasDefault && (kind === 'number' || kind === 'choice')) return true;
  return (settings.dependentRequired?.[name] ?? []).some(
    other => kindOf(settings.properties?.[other] ?? {}) === 'long',
  );
}

/** Removes empty fields, for which the service uses its defaults. */
export function withoutEmpty(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)));
}

/** Converts the values for the API: null removes a stored secret, leaving it out keeps it. */
export function toSend(values: Values, secretsSet: string[]): Values {
  const removed = secretsSet.filter(name => values[name] === null);
  return { ...withoutEmpty(values), ...Object.fromEntries(removed.map(name => [name, null])) };
}

/**
 * Returns the titles of changed settings that decide where secrets are sent; the API then requires the stored secrets
 * again.
 */
export function changedDestinations(settings: Schema, before: Values, now: Values): string[] {
  const serialize = (value: unknown) => (isEmpty(value) ? '' : JSON.stringify(value));
  return Object.entries(settings.properties ?? {})
    .filter(([name, { destination }]) => destination && serialize(before[name]) !== serialize(now[name]))
    .map(([name, { title }]) => title ?? name);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
