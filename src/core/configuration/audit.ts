/** Turns a step of a plan into an audit log entry: the changed fields of an update, otherwise the object itself. Secrets are left out. */

import type { Json, JsonObject } from '../json.ts';
import type { Step } from './diff.ts';
import { sectionsOf } from './document.ts';
import { toProviderEntry } from './fields.ts';

export interface NewAuditEntry {
  action: string;
  noun: string;
  /** Path below the organization; for the organization itself, its slug. */
  path: string;
  before?: Json;
  after?: Json;
}

export function toAuditEntry(step: Step): NewAuditEntry {
  const { action, noun, path, fields } = step;
  const [, ...rest] = path.split('/');
  const entry = { action, noun, path: noun === 'organization' ? path : rest.join('/') };
  if (action === 'update') {
    const side = (from: 'from' | 'to') =>
      Object.fromEntries(fields.map(change => [change.field, change[from] ?? null])) as Json;
    return { ...entry, before: side('from'), after: side('to') };
  }
  const own: JsonObject = {
    ...ownFields(noun, step.state),
    ...(step.noun === 'channel' && { providers: (step.state.providers ?? []).map(toProviderEntry) }),
  };
  return action === 'create' ? { ...entry, after: own } : { ...entry, before: own };
}

const nestedFields = new Set([
  ...['id', 'members', 'addresses', 'newUsers', 'memberEmails'],
  ...['secret', 'token', 'update_secret'],
]);

/** Leaves out secrets and sections: the objects in them have their own steps. */
function ownFields(noun: Step['noun'], state: object): JsonObject {
  const below = new Set(sectionsOf(noun).map(([section]) => section));
  const own = Object.entries(state).filter(
    ([field, value]) =>
      value !== undefined && !nestedFields.has(field) && !below.has(field) && !(noun === 'watch' && field === 'url'),
  );
  return Object.fromEntries(own);
}
