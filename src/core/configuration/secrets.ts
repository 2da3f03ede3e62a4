/**
 * A file need not repeat a secret that is stored: an entry that leaves one out keeps it, and null removes it. Which stored
 * entry it was is told by the provider and its settings, so that changing the order of two servers does not swap their
 * passwords. Where that leaves a choice, nothing is guessed: a password that goes to the wrong server has been given away.
 * For the same reason a stored secret never follows its entry to another destination: whoever may change a channel could
 * else have its password sent to a server of their own.
 */

import { canonicalJson, type Json } from '../json.ts';
import type { ChannelState, OrganizationState, ProviderState } from './state.ts';

export interface Kept {
  providers: ProviderState[];
  /** Secrets that may be one of several; they have to be given. */
  unclear: { index: number; field: string }[];
  /** Secrets that are stored for another destination; they have to be given, too. */
  moved: { index: number; field: string; changed: string[] }[];
}

/** The settings of a provider that decide where its secrets go. */
export type DestinationsOf = (use: string) => string[];

export function keepSecrets(entries: ProviderState[], stored: ProviderState[], destinationsOf: DestinationsOf): Kept {
  const kept: Kept = { providers: [...entries], unclear: [], moved: [] };
  const numbered = entries.map((entry, index) => ({ entry, index }));
  const sameSettings = ({ use, settings }: ProviderState) => `${use} ${canonicalJson(settings)}`;
  const changed: Numbered[] = [];
  const left = new Set(stored);
  for (const [key, unchanged] of Map.groupBy(numbered, ({ entry }) => sameSettings(entry))) {
    const known = stored.filter(one => sameSettings(one) === key);
    if (known.length === 0) changed.push(...unchanged);
    else if (known.length === unchanged.length) {
      // Those with the same settings are taken in their order: nobody can tell them apart, nor change it knowingly.
      for (const [i, { entry, index }] of unchanged.entries()) kept.providers[index] = fill(entry, known[i]!.secrets);
    } else resolve(unchanged, known, kept);
    // Of several with the same settings, one that has changed may be missing here.
    if (known.length <= unchanged.length) for (const one of known) left.delete(one);
  }
  const sameDestination = ({ use, settings }: ProviderState) =>
    `${use} ${canonicalJson(destinationsOf(use).map(field => settings[field] ?? null))}`;
  const moved: Numbered[] = [];
  for (const [key, those] of Map.groupBy(changed, ({ entry }) => sameDestination(entry))) {
    const known = [...left].filter(one => sameDestination(one) === key);
    if (known.length === 0) moved.push(...those);
    else resolve(those, known, kept);
    if (known.length <= those.length) for (const one of known) left.delete(one);
  }
  for (const { entry, index } of moved) {
    const candidates = [...left].filter(one => one.use === entry.use);
    for (const field of missingSecrets(entry, candidates)) {
      const differs = (name: string) => candidates.some(one => !sameValue(one.settings[name], entry.settings[name]));
      kept.moved.push({ index, field, changed: destinationsOf(entry.use).filter(differs) });
    }
  }
  kept.providers = kept.providers.map(withoutRemoved);
  kept.unclear.sort((a, b) => a.index - b.index);
  return kept;
}

interface Numbered {
  entry: ProviderState;
  index: number;
}

/** Any of these entries may be any of these that are stored. */
function resolve(entries: Numbered[], stored: ProviderState[], kept: Kept): void {
  const asking = entries.filter(({ entry }) => missingSecrets(entry, stored).length > 0);
  for (const { entry, index } of asking) {
    const secrets: ProviderState['secrets'] = {};
    for (const field of missingSecrets(entry, stored)) {
      const values = stored.map(one => canonicalJson(one.secrets[field] ?? null));
      const alike = values.every(value => value === values[0]);
      if (alike && asking.length <= stored.length) secrets[field] = stored[0]!.secrets[field]!;
      else kept.unclear.push({ index, field });
    }
    kept.providers[index] = fill(entry, secrets);
  }
}

/** Those that one of the stored entries has, and this one does not give. */
function missingSecrets(entry: ProviderState, stored: ProviderState[]): string[] {
  const fields = new Set(stored.flatMap(({ secrets }) => Object.keys(secrets)));
  return [...fields].filter(field => entry.secrets[field] === undefined);
}

function sameValue(a: Json | undefined, b: Json | undefined): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}

function fill(entry: ProviderState, known: ProviderState['secrets']): ProviderState {
  return { ...entry, secrets: { ...known, ...entry.secrets } };
}

function withoutRemoved(entry: ProviderState): ProviderState {
  const given = Object.entries(entry.secrets).filter(([, value]) => value !== null);
  return { ...entry, secrets: Object.fromEntries(given) };
}

/** Each channel of the document with its stored twin, if there is one, and where it stands in the document. */
export function* pairChannels(
  desired: OrganizationState,
  current: OrganizationState | undefined,
  at: string,
): Generator<{ at: string; channel: ChannelState; stored: ChannelState | undefined }> {
  const levels = [{ at, now: desired.channels, was: current?.channels }];
  for (const [i, project] of (desired.projects ?? []).entries()) {
    const was = current?.projects?.find(({ slug }) => slug === project.slug)?.channels;
    levels.push({ at: `${at}/projects/${i}`, now: project.channels, was });
  }
  for (const { at: place, now, was } of levels) {
    for (const [i, channel] of (now ?? []).entries()) {
      yield { at: `${place}/channels/${i}`, channel, stored: was?.find(({ slug }) => slug === channel.slug) };
    }
  }
}
