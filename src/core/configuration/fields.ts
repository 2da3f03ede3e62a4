/** Lists the fields in which two states differ, for people to read: `providers.0.port: 25 → 2525`. */

import { canonicalJson, isObject, type Json } from '../json.ts';
import { lookUp } from '../lookup.ts';
import type { ChannelState, ProviderState } from './state.ts';

export interface FieldChange {
  field: string;
  /** Null if the field was absent. */
  from: unknown;
  /** Null if the field is removed. */
  to: unknown;
}

/** Shown instead of a secret. */
export const hidden = '(secret)';

/** Compares only the fields that are defined in `after`. */
export function compareFields(before: object, after: object): FieldChange[] {
  const changes: FieldChange[] = [];
  for (const [field, value] of Object.entries(after)) {
    if (value !== undefined) compare(field, (before as Record<string, unknown>)[field], value, changes);
  }
  return changes;
}

/** Compares the secrets of providers. Both sides must have them: those that the file omits have been filled in before. */
export function compareSecrets(before: ChannelState, after: ChannelState): FieldChange[] {
  const changes: FieldChange[] = [];
  for (const [i, { secrets }] of (after.providers ?? []).entries()) {
    const stored = before.providers?.[i]?.secrets ?? {};
    for (const field of new Set([...Object.keys(stored), ...Object.keys(secrets)])) {
      const [from, to] = [stored[field] ?? null, secrets[field] ?? null];
      if (canonicalJson(from) === canonicalJson(to)) continue;
      changes.push({ field: `providers.${i}.${field}`, from: from && hidden, to: to && hidden });
    }
  }
  return changes;
}

/** Returns the provider as it is stored and exported, without secrets. */
export function toProviderEntry({ use, settings }: ProviderState): { use: string; [field: string]: Json } {
  return { use, ...settings };
}

function compare(field: string, from: unknown, to: unknown, changes: FieldChange[]): void {
  if (isObject(from) && isObject(to)) {
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      compare(`${field}.${key}`, lookUp(from, key), lookUp(to, key), changes);
    }
  } else if (Array.isArray(from) && Array.isArray(to) && [...from, ...to].every(isObject)) {
    for (let i = 0; i < Math.max(from.length, to.length); i++) compare(`${field}.${i}`, from[i], to[i], changes);
  } else if ((from === undefined) !== (to === undefined) || canonicalJson(from) !== canonicalJson(to)) {
    changes.push({ field, from: from ?? null, to: to ?? null });
  }
}
