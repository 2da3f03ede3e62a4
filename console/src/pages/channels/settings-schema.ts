/** Reading a provider's settings, which come as a JSON schema. */

export interface Schema {
  type?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
  secret?: boolean;
  /** Decides where the secrets go. */
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

/** From here on, a text is of several lines: a certificate, a key. */
const longText = 5_000;

export function kindOf(schema: Schema): FieldKind {
  if (schema.enum) return 'choice';
  if (schema.type === 'boolean') return 'switch';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  if (schema.type === 'string') {
    if ((schema.maxLength ?? 0) > longText) return 'long';
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

/** Those that most people leave as they are: optional, with a usual value or of several lines. */
export function isRare(name: string, settings: Schema): boolean {
  const schema = settings.properties?.[name];
  if (!schema || settings.required?.includes(name)) return false;
  const kind = kindOf(schema);
  if (kind === 'long' || kind === 'pairs' || kind === 'group' || kind === 'json') return true;
  if (name === 'endpoint') return true;
  if ((kind === 'number' || kind === 'choice') && /Absent:/.test(schema.description ?? '')) return true;
  return (settings.dependentRequired?.[name] ?? []).some(
    other => kindOf(settings.properties?.[other] ?? {}) === 'long',
  );
}

/** Without the fields that were left empty: absent is what the service knows a usual value for. */
export function withoutEmpty(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)));
}

/** As the API takes it: null for a stored secret that is to go; without those that stay. */
export function toSend(values: Values, secretsSet: string[]): Values {
  const removed = secretsSet.filter(name => values[name] === null);
  return { ...withoutEmpty(values), ...Object.fromEntries(removed.map(name => [name, null])) };
}

/** Titles of the changed settings that decide where secrets go: the service then asks for the stored ones again. */
export function changedDestinations(settings: Schema, before: Values, now: Values): string[] {
  const said = (value: unknown) => (isEmpty(value) ? '' : JSON.stringify(value));
  return Object.entries(settings.properties ?? {})
    .filter(([name, { destination }]) => destination && said(before[name]) !== said(now[name]))
    .map(([name, { title }]) => title ?? name);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
