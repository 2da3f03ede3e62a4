/**
 * A file need not repeat a secret that is stored: an entry that leaves one out keeps it, and null removes it. Which stored
 * entry it was is told by the provider and its settings, so that changing the order of two servers does not swap their
 * passwords. Where that leaves a choice, nothing is guessed: a password that goes to the wrong server has been given away.
 */
import type { ChannelState, OrganizationState, ProviderState } from './declarative-state.ts';
import { canonicalJson } from './json.ts';

export interface Kept {
  providers: ProviderState[];
  /** Secrets that may be one of several; they have to be given. */
  unclear: { index: number; field: string }[];
}

export function keepSecrets(entries: ProviderState[], stored: ProviderState[]): Kept {
  const kept: Kept = { providers: [...entries], unclear: [] };
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
  for (const [use, those] of Map.groupBy(changed, ({ entry }) => entry.use)) {
    resolve(
      those,
      [...left].filter(one => one.use === use),
      kept,
    );
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
  const fields = [...new Set(stored.flatMap(({ secrets }) => Object.keys(secrets)))];
  const asking = entries.filter(({ entry }) => fields.some(field => entry.secrets[field] === undefined));
  for (const { entry, index } of asking) {
    const secrets: ProviderState['secrets'] = {};
    for (const field of fields.filter(name => entry.secrets[name] === undefined)) {
      const values = stored.map(one => canonicalJson(one.secrets[field] ?? null));
      const alike = values.every(value => value === values[0]);
      if (alike && asking.length <= stored.length) secrets[field] = stored[0]!.secrets[field]!;
      else kept.unclear.push({ index, field });
    }
    kept.providers[index] = fill(entry, secrets);
  }
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
