/**
 * A provider is what stands behind a channel: a name, the medium it serves, and the settings it needs. Whatever is
 * marked `secret: true` in them is kept encrypted and never shown again. Whatever decides where a secret goes, or who can
 * read it on its way, is marked `destination: true`: when it changes, the secrets have to be given again.
 */
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { Medium, ProviderEntry } from '../core/configuration/document.ts';
import { shapeErrors } from '../core/configuration/shape.ts';
import type { ProviderState } from '../core/configuration/state.ts';
import type { Reach } from '../core/decide.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { Sender, Tools } from './sending.ts';

export interface Provider<Settings extends TObject = TObject> {
  name: string;
  /** The only type of channel that may use it. */
  medium: Medium | 'any';
  /** What people call it. */
  title: string;
  summary: string;
  settings: Settings;
  /**
   * Whether it can tell twins apart by our id, so that sending once more is harmless when an answer was lost. A
   * Message-ID alone does not count: mail servers accept the same one twice.
   */
  dedupes: boolean;
  /** All of a message (also when absent), or nothing that would have to be set into a layout. */
  reads?: 'all' | 'text';
  /** What is made where the public field is left out, and kept from then on: keys, of which one half is a secret. */
  generates?: { publicField: string; make: () => Record<string, string> };
  /** Called once with settings that have the right form; the sender is then used for many messages at a time. */
  open(settings: Static<Settings>, tools: Tools): Sender;
  /**
   * Where messages go. 'address' (also when absent): to an address of the medium, of each recipient who has one. 'room':
   * to one place in the settings, one message for all together. 'recipient': one for each, whatever addresses they have.
   */
  reach?(settings: Static<Settings>): Reach;
}
export type Providers = Readonly<Record<string, Provider>>;

/** The form of a provider's settings, in the order of a form; nothing else may stand beside them. */
export function settings<P extends TProperties>(properties: P, options: object = {}): TObject<P> {
  for (const [field, schema] of Object.entries(properties)) {
    const named = schema as { title?: string };
    named.title ??= titleOf(field);
  }
  return Type.Object(properties, { ...options, additionalProperties: false });
}

const spelled: Record<string, string> = {
  api: 'API',
  ca: 'CA',
  dkim: 'DKIM',
  id: 'ID',
  ms: '(ms)',
  sid: 'SID',
  starttls: 'STARTTLS',
  url: 'URL',
};

/** `api_key_sid` is API key SID, unless the setting has a title of its own. */
function titleOf(field: string): string {
  const [first = '', ...rest] = field.split('_').map(word => spelled[word] ?? word);
  return [first.charAt(0).toUpperCase() + first.slice(1), ...rest].join(' ');
}

export interface FieldMistake {
  field: string;
  message: string;
}

/**
 * What is wrong with an entry of a file. A secret that is missing may be stored already, see `findMissing`; one that is
 * null is to be removed.
 */
export function checkEntry(providers: Providers, entry: ProviderEntry, medium: string): FieldMistake[] {
  const provider = findProvider(providers, entry.use);
  if (!provider) {
    const known = Object.keys(providers).join(', ');
    return [{ field: 'use', message: `there is no provider ${JSON.stringify(entry.use)} (there are ${known})` }];
  }
  if (provider.medium !== 'any' && medium !== '' && provider.medium !== medium) {
    const message = `${provider.name} serves channels of type ${provider.medium}, and this one's type is ${medium}`;
    return [{ field: 'use', message }];
  }
  const { use: _, ...fields } = entry;
  const removed = Object.keys(fields).filter(field => fields[field] === null && isSecret(provider, field));
  const kept = Object.fromEntries(Object.entries(fields).filter(([field]) => !removed.includes(field)));
  const needed = removed.filter(field => provider.settings.required?.includes(field));
  return [
    ...needed.map(field => ({ field, message: `cannot be removed: ${provider.name} does not work without it` })),
    ...shapeErrors(provider.settings, readTexts(provider, kept)).filter(
      error => !(error.missing && isSecret(provider, error.field)),
    ),
  ];
}

/** With what Belfry makes itself: what is stored for the only entry of that provider, else new. */
export function withGenerated(
  providers: Providers,
  entry: ProviderState,
  stored: readonly ProviderState[],
): ProviderState {
  const provider = findProvider(providers, entry.use);
  const generates = provider?.generates;
  if (!provider || !generates || entry.settings[generates.publicField] !== undefined) return entry;
  const made = generates.make();
  const given = Object.keys(made).some(field => (entry.secrets[field] ?? null) !== null);
  if (given) return entry;
  const same = stored.filter(({ use }) => use === entry.use);
  const known = same.length === 1 ? { ...same[0]!.settings, ...same[0]!.secrets } : {};
  const whole: ProviderState = { ...entry, settings: { ...entry.settings }, secrets: { ...entry.secrets } };
  for (const field of Object.keys(made)) {
    const side = isSecret(provider, field) ? whole.secrets : whole.settings;
    side[field] = known[generates.publicField] === undefined ? made[field]! : known[field]!;
  }
  return whole;
}

/** What a provider still needs once stored secrets have taken the place of those left out. */
export function findMissing(providers: Providers, { use, settings, secrets }: ProviderState): FieldMistake[] {
  const provider = findProvider(providers, use);
  if (!provider) return [];
  return shapeErrors(provider.settings, { ...settings, ...secrets })
    .filter(error => error.missing && isSecret(provider, error.field))
    .map(({ field, message }) => ({ field, message: `${message}, and none is stored` }))
    .concat(findHalf(provider, settings));
}

/** A secret half was given, and what belongs to it was not. */
function findHalf({ generates }: Provider, settings: JsonObject): FieldMistake[] {
  if (!generates || settings[generates.publicField] !== undefined) return [];
  return [{ field: generates.publicField, message: 'is required with its secret: give both, or neither' }];
}

/** An entry without mistakes, its secrets apart; null for one that is to be removed. */
export function readEntry(providers: Providers, { use, ...fields }: ProviderEntry): ProviderState {
  const provider = findProvider(providers, use);
  const state: ProviderState = { use, settings: {}, secrets: {} };
  for (const [field, value] of Object.entries(provider ? readTexts(provider, fields) : fields)) {
    const side = isSecret(provider, field) ? state.secrets : state.settings;
    side[field] = value as Json;
  }
  return state;
}

/** Also where a field was stored before it was marked as secret. */
export function withoutSecrets(providers: Providers, use: string, fields: JsonObject): JsonObject {
  const provider = findProvider(providers, use);
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !isSecret(provider, field)));
}

/** The settings that decide where secrets go. */
export function destinationsOf(providers: Providers, use: string): string[] {
  const provider = findProvider(providers, use);
  return Object.keys(provider?.settings.properties ?? {}).filter(field => schemaOf(provider, field)?.destination);
}

function findProvider(providers: Providers, use: string): Provider | undefined {
  return Object.hasOwn(providers, use) ? providers[use] : undefined;
}

function schemaOf(provider: Provider | undefined, field: string): (TSchema & Record<string, unknown>) | undefined {
  const properties: Record<string, TSchema> = provider?.settings.properties ?? {};
  return Object.hasOwn(properties, field) ? (properties[field] as TSchema & Record<string, unknown>) : undefined;
}

function isSecret(provider: Provider | undefined, field: string): boolean {
  return schemaOf(provider, field)?.secret === true;
}

/** A number or a switch may come as text: that is all an environment variable can hold. */
function readTexts(provider: Provider, fields: Record<string, unknown>): Record<string, unknown> {
  const read = (field: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    const type = schemaOf(provider, field)?.type;
    if (type === 'integer' && /^\d{1,15}$/.test(value)) return Number(value);
    if (type === 'boolean' && /^(true|false)$/.test(value)) return value === 'true';
    return value;
  };
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, read(field, value)]));
}
