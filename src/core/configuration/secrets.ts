/**
 * A file does not have to repeat stored secrets: an entry that omits a secret keeps it, and null removes it. Entries are
 * matched with stored ones by provider and settings, so that reordering two servers does not swap their passwords. An
 * ambiguous match is an error, not a guess: a password sent to the wrong server is leaked. For the same reason a stored
 * secret never moves to another destination: otherwise anyone who can edit a channel could send its password to a server
 * that they control.
 */

import { canonicalJson, type Json } from '../json.ts';
import { destinationsOf } from '../sources/updates/update.ts';
import type { ChannelState, OrganizationState, ProviderState, StateByNoun } from './state.ts';

interface KeptSecrets {
  providers: ProviderState[];
  /** Secrets that match more than one stored entry and must be provided. */
  ambiguous: { index: number; field: string }[];
  /** Secrets that are stored for another destination and must be provided. */
  moved: { index: number; field: string; changed: string[] }[];
}

/** The settings of a provider that decide where its secrets go. */
type DestinationsOf = (use: string) => string[];

export function keepSecrets(
  entries: ProviderState[],
  stored: ProviderState[],
  settingsOf: DestinationsOf,
): KeptSecrets {
  const kept: KeptSecrets = { providers: [...entries], ambiguous: [], moved: [] };
  const indexed = entries.map((entry, index) => ({ entry, index }));
  const sameSettings = ({ use, settings }: ProviderState) => `${use} ${canonicalJson(settings)}`;
  const changed: IndexedEntry[] = [];
  const left = new Set(stored);
  for (const [key, unchanged] of Map.groupBy(indexed, ({ entry }) => sameSettings(entry))) {
    const known = stored.filter(one => sameSettings(one) === key);
    if (known.length === 0) changed.push(...unchanged);
    else if (known.length === unchanged.length) {
      // Entries with equal settings are matched by position: they cannot be distinguished.
      for (const [i, { entry, index }] of unchanged.entries())
        kept.providers[index] = withSecrets(entry, known[i]!.secrets);
    } else resolve(unchanged, known, kept);
    // If more are stored than listed, one of them may have been changed and is matched by destination below.
    if (known.length <= unchanged.length) for (const one of known) left.delete(one);
  }
  const sameDestination = ({ use, settings }: ProviderState) =>
    `${use} ${canonicalJson(settingsOf(use).map(field => settings[field] ?? null))}`;
  const moved: IndexedEntry[] = [];
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
      kept.moved.push({ index, field, changed: settingsOf(entry.use).filter(differs) });
    }
  }
  kept.providers = kept.providers.map(withoutRemoved);
  kept.ambiguous.sort((a, b) => a.index - b.index);
  return kept;
}

interface IndexedEntry {
  entry: ProviderState;
  index: number;
}

/** Fills in secrets where any of the entries may correspond to any of the stored ones: only values that all of them share. */
function resolve(entries: IndexedEntry[], stored: ProviderState[], kept: KeptSecrets): void {
  const incomplete = entries.filter(({ entry }) => missingSecrets(entry, stored).length > 0);
  for (const { entry, index } of incomplete) {
    const secrets: ProviderState['secrets'] = {};
    for (const field of missingSecrets(entry, stored)) {
      const values = stored.map(one => canonicalJson(one.secrets[field] ?? null));
      const isSame = values.every(value => value === values[0]);
      if (isSame && incomplete.length <= stored.length) secrets[field] = stored[0]!.secrets[field]!;
      else kept.ambiguous.push({ index, field });
    }
    kept.providers[index] = withSecrets(entry, secrets);
  }
}

/** Returns the secrets that a stored entry has and this one omits. */
function missingSecrets(entry: ProviderState, stored: ProviderState[]): string[] {
  const fields = new Set(stored.flatMap(({ secrets }) => Object.keys(secrets)));
  return [...fields].filter(field => entry.secrets[field] === undefined);
}

function sameValue(a: Json | undefined, b: Json | undefined): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}

function withSecrets(entry: ProviderState, stored: ProviderState['secrets']): ProviderState {
  return { ...entry, secrets: { ...stored, ...entry.secrets } };
}

function withoutRemoved(entry: ProviderState): ProviderState {
  const remaining = Object.entries(entry.secrets).filter(([, value]) => value !== null);
  return { ...entry, secrets: Object.fromEntries(remaining) };
}

/** Yields each channel of the document with its stored counterpart, if any, and its path in the document. */
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
  for (const { at: path, now, was } of levels) {
    for (const [i, channel] of (now ?? []).entries()) {
      yield { at: `${path}/channels/${i}`, channel, stored: was?.find(({ slug }) => slug === channel.slug) };
    }
  }
}

type Updating = Pick<StateByNoun['source'], 'update'>;

/** Returns whether requests to the sender go to the same servers. */
export function isSameDestination(one: Updating, other: Updating): boolean {
  return destinationsOf(one.update) === destinationsOf(other.update);
}

/** Pairs the sources of a document with the stored ones. */
export function* pairSources(desired: OrganizationState, current: OrganizationState | undefined, path: string) {
  for (const [p, project] of (desired.projects ?? []).entries()) {
    const storedProject = current?.projects?.find(({ slug }) => slug === project.slug);
    for (const [a, application] of (project.applications ?? []).entries()) {
      const storedApplication = storedProject?.applications?.find(({ slug }) => slug === application.slug);
      for (const [s, source] of (application.sources ?? []).entries()) {
        const stored = storedApplication?.sources?.find(({ slug }) => slug === source.slug);
        yield { at: `${path}/projects/${p}/applications/${a}/sources/${s}`, source, stored };
      }
    }
  }
}
