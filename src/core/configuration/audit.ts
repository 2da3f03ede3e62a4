/** What a step of a plan leaves in the audit log: of an update what differs, else the thing itself; never a secret. */

import type { Json, JsonObject } from '../json.ts';
import type { Step } from './diff.ts';
import { toEntry } from './fields.ts';
import type { ChannelState } from './state.ts';

export interface AuditedStep {
  action: string;
  noun: string;
  /** Below the organization; of the organization itself, its slug. */
  path: string;
  before?: Json;
  after?: Json;
}

export function toAuditEntry({ action, noun, path, fields, state }: Step): AuditedStep {
  const [, ...below] = path.split('/');
  const entry = { action, noun, path: noun === 'organization' ? path : below.join('/') };
  if (action === 'update') {
    const side = (from: 'from' | 'to') =>
      Object.fromEntries(fields.map(change => [change.field, change[from] ?? null])) as Json;
    return { ...entry, before: side('from'), after: side('to') };
  }
  const shown = noun === 'channel' ? withoutSecrets(state as ChannelState) : ownFields(withoutSecret(state));
  return action === 'create' ? { ...entry, after: shown } : { ...entry, before: shown };
}

function withoutSecrets({ providers = [], ...own }: ChannelState): Json {
  return { ...(ownFields(own) as JsonObject), providers: providers.map(toEntry) };
}

/** Of a webhook. */
function withoutSecret({ secret: _, ...own }: object & { secret?: string }): object {
  return own;
}

/** What is below has steps of its own. */
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
const inner = new Set(['notifications', 'members', 'addresses', 'newcomers', 'memberEmails']);

function ownFields(state: object): Json {
  const own = Object.entries(state).filter(
    ([field, value]) => value !== undefined && !inner.has(field) && (!sections.has(field) || isNames(value)),
  );
  return Object.fromEntries(own) as Json;
}

/** The channels of a notification are names, and its own. */
function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string');
}
