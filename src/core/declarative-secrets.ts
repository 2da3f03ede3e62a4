/**
 * A file need not repeat a secret that is stored: an entry that leaves one out keeps it. Which stored entry it was is
 * told by the provider and its settings, so that changing the order of two servers does not swap their passwords.
 */
import type { ChannelState, OrganizationState, ProviderState } from './declarative-state.ts';
import { canonicalJson } from './json.ts';

export function keepSecrets(entries: ProviderState[], stored: ProviderState[]): ProviderState[] {
  const left = [...stored];
  const take = (matches: (candidate: ProviderState) => boolean): ProviderState | undefined => {
    const index = left.findIndex(matches);
    return index < 0 ? undefined : left.splice(index, 1)[0];
  };
  const same = entries.map(({ use, settings }) =>
    take(candidate => candidate.use === use && canonicalJson(candidate.settings) === canonicalJson(settings)),
  );
  return entries.map((entry, i) => {
    const known = same[i] ?? take(candidate => candidate.use === entry.use);
    return { ...entry, secrets: { ...known?.secrets, ...entry.secrets } };
  });
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
