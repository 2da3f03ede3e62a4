/** Checks the groups that follow a schedule: their channel has to exist, to serve such groups, and no two schedules of the organization share one. */

import type { UserGroup } from '../../audience/user-groups.ts';
import type { FieldErrors } from '../../errors.ts';
import { lookUp } from '../../lookup.ts';
import { listChoices } from '../references.ts';
import { addError } from '../shape.ts';
import type { ChannelState, OrganizationState, ProjectState } from '../state.ts';

/** What the ids of groups look like, by the name of a provider that has such groups. */
export type GroupProviders = Readonly<Record<string, { pattern: RegExp; hint: string }>>;

interface CheckOptions {
  /** Path in the document. */
  at: string;
  prune: boolean;
  providers: GroupProviders;
  /** Groups of the document that follow a stored schedule of the organization. */
  following: readonly FollowingGroup[];
}

/** A group that follows a schedule, by the slugs of the schedule. */
export interface FollowingGroup {
  project: string;
  schedule: string;
  group: string;
}

/** Returns the ids of all groups in a document. */
export function groupsIn({ projects = [] }: OrganizationState): string[] {
  return projects.flatMap(one => one.schedules ?? []).flatMap(({ groups }) => (groups ?? []).map(({ group }) => group));
}

/** Reports the mistakes of one organization at its path in the document. */
export function checkUserGroups(
  desired: OrganizationState,
  current: OrganizationState | undefined,
  { at, prune, providers, following }: CheckOptions,
  errors: FieldErrors,
): void {
  // The services choose the ids: whichever channel leads to it, it is the same group.
  const kept = following.filter(one => isKept(desired, one, prune));
  const owners = new Map(kept.map(({ project, schedule, group }) => [group, `${project}/${schedule}`]));
  // A caller who may change one project need not know of others.
  const known = new Set(desired.projects?.map(({ slug }) => slug));
  const nameOf = (owner: string) =>
    known.has(owner.split('/')[0]!) ? `the schedule ${owner}` : 'a schedule of another project';
  for (const [i, project] of (desired.projects ?? []).entries()) {
    const schedules = (project.schedules ?? []).filter(({ groups }) => groups);
    if (schedules.length === 0) continue;
    const stored = current?.projects?.find(({ slug }) => slug === project.slug);
    const channels = listChannels([project, stored], [desired, current]);
    for (const [n, { slug, groups }] of project.schedules!.entries()) {
      for (const [g, group] of (groups ?? []).entries()) {
        const path = `${at}/projects/${i}/schedules/${n}/groups/${g}`;
        const report = (field: string, message: string) => addError(errors, `${path}/${field}`, message);
        checkChannel(group, channels, providers, report);
        const [owner, own] = [owners.get(group.group), `${project.slug}/${slug}`];
        if (owner === own) report('group', 'is listed twice');
        else if (owner !== undefined) report('group', `follows ${nameOf(owner)} already: a group can follow only one`);
        owners.set(group.group, own);
      }
    }
  }
}

/** Whether a stored group still follows its schedule after the document was applied, apart from what the document says. */
function isKept({ projects }: OrganizationState, { project, schedule }: FollowingGroup, prune: boolean): boolean {
  const file = projects?.find(({ slug }) => slug === project);
  if (file && !file.schedules) return true;
  return !prune && !file?.schedules?.some(({ slug }) => slug === schedule);
}

type Channels = Map<string, Pick<ChannelState, 'providers'>>;
type Owner = Pick<ProjectState, 'channels'> | undefined;

/** A project's channel takes precedence over the organization's. A channel whose providers are not managed keeps them. */
function listChannels(...levels: [file: Owner, stored: Owner][]): Channels {
  const channels: Channels = new Map();
  for (const [file, stored] of levels) {
    for (const { slug, providers } of file?.channels ?? stored?.channels ?? []) {
      const kept = stored?.channels?.find(one => one.slug === slug)?.providers;
      if (!channels.has(slug)) channels.set(slug, { providers: providers ?? kept ?? [] });
    }
  }
  return channels;
}

function checkChannel(
  { channel: slug, group }: UserGroup,
  channels: Channels,
  providers: GroupProviders,
  report: (field: string, message: string) => void,
): void {
  const channel = channels.get(slug);
  const able = [...channels].filter(([, one]) => findProvider(one.providers, providers)).map(([name]) => name);
  const names = new Intl.ListFormat('en', { type: 'disjunction' }).format(Object.keys(providers));
  if (!channel) {
    report('channel', `there is no channel ${JSON.stringify(slug)} that a group can be in (${listChoices(able)})`);
    return;
  }
  const id = findProvider(channel.providers, providers);
  if (!id)
    report('channel', `has no provider with user groups: name a channel that uses ${names} (${listChoices(able)})`);
  else if (!id.pattern.test(group)) report('group', id.hint);
}

function findProvider(own: ChannelState['providers'], providers: GroupProviders) {
  return own?.map(({ use }) => lookUp(providers, use)).find(one => one !== undefined);
}
