/** Turns a step of a plan into an audit log entry: the changed fields of an update, otherwise the object itself. Secrets are left out. */

import type { Json, JsonObject } from '../json.ts';
import type { Step } from './diff.ts';
import { toProviderEntry } from './fields.ts';
import type { ChannelState } from './state.ts';

export interface NewAuditEntry {
  action: string;
  noun: string;
  /** Path below the organization; for the organization itself, its slug. */
  path: string;
  before?: Json;
  after?: Json;
}

export function toAuditEntry({ action, noun, path, fields, state }: Step): NewAuditEntry {
  const [, ...rest] = path.split('/');
  const entry = { action, noun, path: noun === 'organization' ? path : rest.join('/') };
  if (action === 'update') {
    const side = (from: 'from' | 'to') =>
      Object.fromEntries(fields.map(change => [change.field, change[from] ?? null])) as Json;
    return { ...entry, before: side('from'), after: side('to') };
  }
  const ownState = noun === 'channel' ? withoutSecrets(state as ChannelState) : ownFields(withoutSecret(state));
  return action === 'create' ? { ...entry, after: ownState } : { ...entry, before: ownState };
}

function withoutSecrets({ providers = [], ...own }: ChannelState): Json {
  return { ...(ownFields(own) as JsonObject), providers: providers.map(toProviderEntry) };
}

/** Removes the secret of a webhook. */
function withoutSecret({ secret: _, ...own }: object & { secret?: string }): object {
  return own;
}

/** Sections of the document; the objects in them have their own steps. */
const sections = new Set([
  'id',
  'channels',
  'layouts',
  'categories',
  'webhooks',
  'users',
  'projects',
  'lists',
  'applications',
  'events',
]);
const nestedFields = new Set(['notifications', 'members', 'addresses', 'newUsers', 'memberEmails']);

function ownFields(state: object): Json {
  const own = Object.entries(state).filter(
    ([field, value]) => value !== undefined && !nestedFields.has(field) && (!sections.has(field) || isNames(value)),
  );
  return Object.fromEntries(own) as Json;
}

/** Distinguishes channel names, a notification's own field, from the section of channels. */
function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string');
}
