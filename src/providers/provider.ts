/**
 * A provider sends the messages of a channel: it has a name, the medium it serves, and the settings it needs. Settings
 * marked `secret: true` are stored encrypted and never shown again. Settings that decide where a secret goes, or who can
 * read it in transit, are marked `destination: true`: when one changes, the secrets must be entered again.
 */

import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { GroupProviders } from '../core/configuration/checks/user-groups.ts';
import type { ProviderEntry } from '../core/configuration/nouns/channel.ts';
import type { Medium } from '../core/configuration/nouns/schemas.ts';
import { shapeErrors } from '../core/configuration/shape.ts';
import type { ProviderState } from '../core/configuration/state.ts';
import { defaultWarmUpGrowth } from '../core/decision/day-limit.ts';
import type { Reach } from '../core/decision/decide.ts';
import type { FeedbackBody, FeedbackRequest, Verification, VerificationTools } from '../core/feedback/event.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { lookUp } from '../core/lookup.ts';
import type { MailSender } from '../core/mail-domain/examine.ts';
import type { UpdateAction } from '../core/message/message-updates.ts';
import { optionalInteger } from '../core/optional.ts';
import type { Outcome, Sender, Tools } from './sending.ts';
import type { UserGroups } from './user-groups.ts';

export interface Provider<Settings extends TObject = TObject> {
  name: string;
  /** The only type of channel that may use it. */
  medium: Medium | 'any';
  /** The display name. */
  title: string;
  summary: string;
  settings: Settings;
  /**
   * Whether it deduplicates messages by our id, so that sending again is harmless after a lost answer. A Message-ID alone
   * is not enough: mail servers accept the same one twice. Default: it does not.
   */
  dedupes?: boolean;
  /** Which content it needs: everything (the default), or only text, so that no layout is rendered. */
  reads?: 'all' | 'text';
  /** What recipients see beyond plain text; email is always HTML. Shown in the comparison of providers. */
  shows?: readonly ('formatting' | 'buttons' | 'images')[];
  /**
   * What it can do with a message after sending it, when its occurrence is acknowledged, resolved or cancelled. Default: nothing.
   */
  updates?: readonly UpdateAction[];
  /** Whether it sends files. Otherwise, the text names them, and the history says that they were left out. */
  attaches?: true;
  /** Generates a key pair if the public field is left out; it is stored from then on. */
  generates?: { publicField: string; make: () => Record<string, string> };
  /** Returns what is wrong with settings beyond their schema. Secrets that are stored already may be absent. */
  findMistakes?(settings: Partial<Static<Settings>>): SettingMistake[];
  /** Called once with valid settings; the sender is then used for many messages concurrently. */
  open(settings: Static<Settings>, tools: Tools): Sender;
  /**
   * Where messages go. 'address' (the default): to the medium's address of each recipient who has one. 'room': to one
   * destination in the settings, one message for all recipients. 'recipient': one for each, whatever addresses they have.
   */
  reach?(settings: Static<Settings>): Reach;
  /** Whether it can send to an address of its medium. Others are left to the channel's next provider. Default: to all. */
  accepts?(address: string, settings: Static<Settings>): boolean;
  /** The service whose webhooks report what became of messages, and the secret of its signatures. */
  feedback?(settings: Static<Settings>): FeedbackSource | undefined;
  /**
   * What the service calls its credentials, where to get valid ones, and the settings that hold them, by default all secrets.
   * Absent: it has none.
   */
  credential?: Credential | ((settings: Static<Settings>) => Credential);
  /** Asks the service whether it accepts the credentials, with a request that sends nothing and costs nothing. */
  check?(settings: Static<Settings>, tools: Tools): Promise<Outcome>;
  /** How presses of its buttons, or replies to its messages, are verified, read and answered. */
  interactions?(settings: Static<Settings>): Interactions;
  /** How the members of a group are set that people mention there. Absent: it has no such groups. */
  userGroups?: UserGroups<Static<Settings>>;
  /** How emails are signed and sent, for the check of their domain. Default: by a service, in its own ways. */
  mailRoute?(settings: Static<Settings>): MailRoute;
  /** The host name by which it introduces itself to mail servers, which should resolve. */
  introducesAs?(settings: Static<Settings>, tools: Pick<Tools, 'hostName'>): string | undefined;
}

export interface Credential {
  name: string;
  hint: string;
  fields?: readonly string[];
}

export interface MailRoute extends Pick<MailSender, 'dkim' | 'secondDkim' | 'server'> {
  /** Domain of the return path if it is not that of the sender. */
  bounceDomain: string | undefined;
}

export interface FeedbackSource {
  /** Name of its reader in `providers/feedback`. */
  service: string;
  secret: string | undefined;
}
/**
 * What people do where they read: they press a button of a message, or reply to it. A provider says how its service signs
 * and describes that, and how it shows an answer. Who may act, and what happens, is not its business.
 */
export interface Interactions {
  /** Where it happens, such as `in Slack`, for the history and the audit log. */
  where: string;
  /** False: the settings lack the secret that verifies requests, so all of them are refused. */
  isReady: boolean;
  /** Where the address is entered at the service; `{url}` is replaced by it. Absent: it is sent along with each message. */
  setup?: string;
  /** Whether people whom Belfry does not know may act. */
  anyoneMayAct: boolean;
  /** The service signs nothing: only the token of the button shows that it sent the request. */
  isTokenProof?: true;
  /** Checks that the service itself sent the request, recently if the service says when. */
  verify(request: FeedbackRequest, tools: VerificationTools): Verification | Promise<Verification>;
  /**
   * Returns what a person did, such as the command /oncall, or the response to a request that is nothing of that kind. Throws an Error that says what
   * is wrong with the body if it is not what the service sends.
   */
  read(body: FeedbackBody): Interaction | InteractionResponse;
  /** Returns further addresses of the person, asked for only if none of the first is known. */
  lookUp?(interaction: Interaction, tools: Tools): Promise<string[]>;
  /** Shows a text to the person, as the response to the request or by another request. Undefined: says nothing. */
  answer(text: string | undefined, interaction: Interaction, tools: Tools): Promise<InteractionResponse>;
}

export interface Interaction {
  /** The token of the button that was pressed. */
  token?: string;
  /** The command /oncall that the person wrote. */
  command?: Command;
  /** What the person replied, if it was no button. */
  reply?: string;
  /** When it was replied, if the service says so: only what was sent before is meant. `verify` must return `once`. */
  repliedAt?: Date;
  /** Said to a person who wrote something that asks for nothing, such as the address by which messages reach them. */
  greeting?: string;
  /** Addresses of the channel's type by which the person may be known, such as a member id. */
  addresses: string[];
  /** The person's name at the service. */
  name: string;
  /** Where or to what the service wants its answer. */
  answerTo?: string;
}

export interface Command {
  /** What follows the name of the command. People are mentioned as `<@address>`. */
  text: string;
  /** What the service calls this command, also if it delivers it again. */
  id: string;
  /** If the service says so, and may deliver it much later. */
  writtenAt?: Date;
}

export interface InteractionResponse {
  contentType?: string;
  body?: string;
}

export type Providers = Readonly<Record<string, Provider>>;

/** Returns the names of the providers that can change messages after sending them. */
export function listUpdatable(providers: Providers): string[] {
  return Object.values(providers).flatMap(({ name, updates }) => (updates ? [name] : []));
}

/** Returns what the ids of groups look like, by the name of a provider that has groups. */
export function groupIdsOf(providers: Providers): GroupProviders {
  return Object.fromEntries(
    Object.values(providers).flatMap(({ name, userGroups }) => (userGroups ? [[name, userGroups.id]] : [])),
  );
}

/** Settings of every provider that has any: its limit per day, which the engine enforces. */
export const dayLimitSettings = {
  per_day: optionalInteger({
    minimum: 1,
    maximum: 1_000_000_000,
    description:
      'Maximum messages per day in UTC, across all workers. The others wait for the next day. Absent: no limit.',
  }),
  warm_up_start: optionalInteger({
    minimum: 1,
    maximum: 1_000_000_000,
    description:
      'Maximum messages on the first day. The limit then grows every day until it reaches per_day. Absent: per_day.',
  }),
  warm_up_growth: Type.Optional(
    Type.Number({
      minimum: 1.1,
      maximum: 10,
      description: `The factor by which the limit grows every day during the warm-up. Absent: ${defaultWarmUpGrowth}.`,
    }),
  ),
};

/** Returns the schema of a provider's settings, in the order of the form. Other properties are not allowed. */
export function settings<P extends TProperties>(
  own: P,
  { dependentRequired, ...options }: { dependentRequired?: Record<string, string[]>; [option: string]: unknown } = {},
): TObject<P> {
  if (Object.keys(own).length === 0) return Type.Object(own, { additionalProperties: false });
  const properties = { ...own, ...dayLimitSettings };
  for (const [field, schema] of Object.entries(properties)) {
    const titled = schema as { title?: string };
    titled.title ??= titleOf(field);
  }
  const needed = { ...dependentRequired, warm_up_start: ['per_day'], warm_up_growth: ['warm_up_start'] };
  return Type.Object(properties, { ...options, dependentRequired: needed, additionalProperties: false });
}

const specialWords: Record<string, string> = {
  api: 'API',
  ca: 'CA',
  dkim: 'DKIM',
  ehlo: 'EHLO',
  ed25519: 'Ed25519',
  id: 'ID',
  imap: 'IMAP',
  ms: '(ms)',
  oauth2: 'OAuth 2.0',
  sid: 'SID',
  starttls: 'STARTTLS',
  url: 'URL',
};

/** Turns `api_key_sid` into "API key SID", for settings without their own title. */
function titleOf(field: string): string {
  const [first = '', ...rest] = field.split('_').map(word => lookUp(specialWords, word) ?? word);
  return [first.charAt(0).toUpperCase() + first.slice(1), ...rest].join(' ');
}

/** Explains that the service rejected the credentials, in words that name the settings to change. */
export function explainDenied({ title, credential, settings }: Provider, values: unknown, reason: string): string {
  const secrets = Object.entries(settings.properties as Record<string, { secret?: boolean }>)
    // The other direction has its own secret.
    .filter(([field, { secret }]) => secret && field !== 'webhook_secret')
    .map(([field]) => field);
  const described = typeof credential === 'function' ? credential(values as never) : credential;
  const { name, hint, fields = secrets } = described ?? { name: 'credentials', hint: 'check them' };
  const where = fields.length > 0 ? ` (${fields.join(', ')})` : '';
  return `${title} rejected the ${name} (${reason}): ${hint}. Enter the new value in the channel’s settings${where}.`;
}

interface FieldMistake {
  field: string;
  message: string;
}

export interface SettingMistake extends FieldMistake {
  /** Whether a required setting is absent. */
  missing?: boolean;
}

/** Settings of the right shape only: their values are examined further if each of them is valid in itself. */
function findAllMistakes(provider: Provider, fields: Record<string, unknown>): SettingMistake[] {
  const errors = shapeErrors(provider.settings, fields);
  if (!provider.findMistakes || errors.some(({ missing }) => !missing)) return errors;
  return [...errors, ...provider.findMistakes(fields as never)];
}

/**
 * Returns what is wrong with an entry of a file. A missing secret may be stored already, see `findMissing`; null removes
 * a secret.
 */
export function checkEntry(providers: Providers, entry: ProviderEntry, medium: string): FieldMistake[] {
  const provider = lookUp(providers, entry.use);
  if (!provider) {
    const names = Object.keys(providers).join(', ');
    return [{ field: 'use', message: `there is no provider ${JSON.stringify(entry.use)} (there are ${names})` }];
  }
  if (provider.medium !== 'any' && medium !== '' && provider.medium !== medium) {
    const message = `${provider.name} serves channels of type ${provider.medium}, but this channel has type ${medium}`;
    return [{ field: 'use', message }];
  }
  const { use: _, ...fields } = entry;
  const removed = Object.keys(fields).filter(field => fields[field] === null && isSecret(provider, field));
  const kept = Object.fromEntries(Object.entries(fields).filter(([field]) => !removed.includes(field)));
  const needed = removed.filter(field => provider.settings.required?.includes(field));
  const { per_day, warm_up_start } = parseTexts(provider, kept);
  const startsTooHigh = Number(warm_up_start) > Number(per_day);
  return [
    ...(startsTooHigh ? [{ field: 'warm_up_start', message: 'must not be more than per_day' }] : []),
    ...needed.map(field => ({ field, message: `cannot be removed: ${provider.name} does not work without it` })),
    ...findAllMistakes(provider, parseTexts(provider, kept)).filter(
      error => !(error.missing && isSecret(provider, error.field)),
    ),
  ];
}

/** Adds generated settings: those stored for the only entry of the same provider, else new ones. */
export function withGenerated(
  providers: Providers,
  entry: ProviderState,
  stored: readonly ProviderState[],
): ProviderState {
  const provider = lookUp(providers, entry.use);
  const generates = provider?.generates;
  if (!provider || !generates || entry.settings[generates.publicField] !== undefined) return entry;
  const generated = generates.make();
  const hasSecrets = Object.keys(generated).some(field => (entry.secrets[field] ?? null) !== null);
  if (hasSecrets) return entry;
  const candidates = stored.filter(({ use }) => use === entry.use);
  const storedFields = candidates.length === 1 ? { ...candidates[0]!.settings, ...candidates[0]!.secrets } : {};
  const completed: ProviderState = { ...entry, settings: { ...entry.settings }, secrets: { ...entry.secrets } };
  for (const field of Object.keys(generated)) {
    const side = isSecret(provider, field) ? completed.secrets : completed.settings;
    side[field] = storedFields[generates.publicField] === undefined ? generated[field]! : storedFields[field]!;
  }
  return completed;
}

/** Returns the secrets that an entry still lacks after stored ones were filled in. */
export function findMissing(providers: Providers, { use, settings, secrets }: ProviderState): FieldMistake[] {
  const provider = lookUp(providers, use);
  if (!provider) return [];
  return findAllMistakes(provider, { ...settings, ...secrets })
    .filter(error => error.missing && isSecret(provider, error.field))
    .map(({ field, message }) => ({ field, message: `${message}, and none is stored` }))
    .concat(findMissingPublicHalf(provider, settings));
}

/** A private key was entered without its public key. */
function findMissingPublicHalf({ generates }: Provider, settings: JsonObject): FieldMistake[] {
  if (!generates || settings[generates.publicField] !== undefined) return [];
  return [{ field: generates.publicField, message: 'is required with its secret: set both, or neither' }];
}

/** Splits a valid entry into settings and secrets; a secret to be removed is null. */
export function readEntry(providers: Providers, { use, ...fields }: ProviderEntry): ProviderState {
  const provider = lookUp(providers, use);
  const state: ProviderState = { use, settings: {}, secrets: {} };
  for (const [field, value] of Object.entries(provider ? parseTexts(provider, fields) : fields)) {
    const side = isSecret(provider, field) ? state.secrets : state.settings;
    side[field] = value as Json;
  }
  return state;
}

/** Also removes fields that were stored before they were marked as secret. */
export function withoutSecrets(providers: Providers, use: string, fields: JsonObject): JsonObject {
  const provider = lookUp(providers, use);
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !isSecret(provider, field)));
}

/** Returns the settings that decide where secrets go. */
export function destinationsOf(providers: Providers, use: string): string[] {
  const provider = lookUp(providers, use);
  return Object.keys(provider?.settings.properties ?? {}).filter(field => schemaOf(provider, field)?.destination);
}

function schemaOf(provider: Provider | undefined, field: string): (TSchema & Record<string, unknown>) | undefined {
  const properties: Record<string, TSchema> = provider?.settings.properties ?? {};
  return lookUp(properties, field) as (TSchema & Record<string, unknown>) | undefined;
}

function isSecret(provider: Provider | undefined, field: string): boolean {
  return schemaOf(provider, field)?.secret === true;
}

/** Parses numbers and booleans that are given as text, as environment variables are. */
function parseTexts(provider: Provider, fields: Record<string, unknown>): Record<string, unknown> {
  const read = (field: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    const type = schemaOf(provider, field)?.type;
    if (type === 'number' && /^\d{1,9}(\.\d{1,9})?$/.test(value)) return Number(value);
    if (type === 'integer' && /^\d{1,15}$/.test(value)) return Number(value);
    if (type === 'boolean' && /^(true|false)$/.test(value)) return value === 'true';
    return value;
  };
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, read(field, value)]));
}
