/**
 * References by name: events to categories; notifications to channels (by slug or type), distribution lists and layouts.
 * A name that the document does not define is looked up in the stored sections that it does not manage, and a document
 * must not remove an object that is still referenced from outside of it.
 */

import { personal } from '../decision/decide.ts';
import { generalSlug } from '../decision/preferences.ts';
import type { FieldErrors } from '../errors.ts';
import { fold } from '../text/text.ts';
import { addError } from './shape.ts';
import type { NotificationState, OrganizationState, ProjectState } from './state.ts';

/** A name that the document uses and does not define. */
export interface Reference {
  at: string;
  kind: 'category' | 'channel' | 'list' | 'layout' | 'schedule';
  name: string;
  organization: string;
  project: string;
}

/** An event that the route of a source or a schedule names, and that the document does not define. */
export interface EventReference {
  at: string;
  slugs: { org: string; prj: string; app: string; evt: string };
}

/** A user of a schedule, who has to exist. */
export interface UserReference {
  at: string;
  organization: string;
  username: string;
}

/** Returns the key under which names are compared: slugs and types exactly, names of lists and layouts ignoring case. */
export function identityOf(kind: Reference['kind'], name: string): string {
  if (kind === 'list') return fold(name.trim());
  return kind === 'layout' ? fold(name) : name;
}

/** Reports the references that do not exist in the stored state either. */
export function checkReferences(
  references: readonly Reference[],
  desired: readonly OrganizationState[],
  current: ReadonlyMap<string, OrganizationState>,
  errors: FieldErrors,
): void {
  const projectOf = (organization: OrganizationState | undefined, slug: string) =>
    organization?.projects?.find(project => project.slug === slug);
  // Computed once per kind and project: per reference it would take references × names.
  const cached = new Map<string, { names: Map<string, string>; choice: string }>();
  const findNames = ({ kind, organization, project }: Reference) => {
    const key = `${kind} ${organization} ${project}`;
    const found = cached.get(key);
    if (found) return found;
    const file = desired.find(({ slug }) => slug === organization);
    const [inFile, stored] = [projectOf(file, project), projectOf(current.get(organization), project)];
    const storedOrganization = current.get(organization);
    const names = namesOf(
      kind,
      {
        distribution_lists: inFile?.distribution_lists ?? stored?.distribution_lists,
        channels: inFile?.channels ?? stored?.channels,
        layouts: inFile?.layouts ?? stored?.layouts,
        schedules: inFile?.schedules ?? stored?.schedules,
      },
      {
        channels: file?.channels ?? storedOrganization?.channels,
        layouts: file?.layouts ?? storedOrganization?.layouts,
        categories: file?.categories ?? storedOrganization?.categories,
      },
    );
    const made = { names, choice: listChoices(names.values()) };
    cached.set(key, made);
    return made;
  };
  for (const reference of references) {
    const { at, kind, name } = reference;
    const { names, choice } = findNames(reference);
    if (!names.has(identityOf(kind, name))) addError(errors, at, unknownName(kind, name, choice));
    if (Object.keys(errors).length >= maxErrors) return;
  }
}

/** Looking up stops after this many mistakes: only the first 20 are shown. */
const maxErrors = 100;

/** Reports objects that would be removed while an event or notification outside the document references them. */
export function checkDanglingReferences(
  current: OrganizationState,
  desired: OrganizationState,
  { prune }: { prune: boolean },
  at: string,
  errors: FieldErrors,
): void {
  const bySlug = (item: { slug: string }) => item.slug;
  const byName = (item: { name: string }) => fold(item.name);
  const after = {
    channels: merged(current.channels, desired.channels, prune, bySlug),
    layouts: merged(current.layouts, desired.layouts, prune, byName),
    categories: merged(current.categories, desired.categories, prune, bySlug),
  };
  for (const project of current.projects ?? []) {
    const index = desired.projects?.findIndex(({ slug }) => slug === project.slug) ?? -1;
    const file = desired.projects?.[index];
    if (!file && desired.projects && prune) continue;
    const projectAfter = {
      channels: merged(project.channels, file?.channels, prune, bySlug),
      layouts: merged(project.layouts, file?.layouts, prune, byName),
      distribution_lists: merged(project.distribution_lists, file?.distribution_lists, prune, byName),
      schedules: merged(project.schedules, file?.schedules, prune, bySlug),
    };
    // Computed once per kind: there can be many notifications and channels to look up.
    const namesBefore = memoize(kind => namesOf(kind, project, current));
    const namesAfter = memoize(kind => namesOf(kind, projectAfter, after));
    const named = new Set(file?.schedules?.map(({ slug }) => slug));
    const schedules = file?.schedules && prune ? [] : (project.schedules ?? []);
    for (const { slug, fallback, groups } of schedules.filter(one => !named.has(one.slug))) {
      for (const { channel } of groups ?? []) {
        if (!namesBefore('channel').has(channel) || namesAfter('channel').has(channel)) continue;
        const user = `${current.slug}/${project.slug}/${slug}`;
        const section = sectionOf('channel', file, index);
        addError(errors, `${at}/${section}`, `removes channel ${channel}, which schedule ${user} still uses`);
      }
      const identity = fallback && identityOf('list', fallback);
      if (!identity || !namesBefore('list').has(identity) || namesAfter('list').has(identity)) continue;
      const user = `${current.slug}/${project.slug}/${slug}`;
      addError(
        errors,
        `${at}/${sectionOf('list', file, index)}`,
        `removes list ${fallback}, which schedule ${user} still uses`,
      );
    }
    for (const { path, event, newer } of remainingEvents(project, file, prune)) {
      const { category, notifications = [] } = event;
      if (!newer && category !== null && !namesAfter('category').has(category)) {
        addError(errors, `${at}/categories`, `removes category ${category}, which ${current.slug}/${path} still uses`);
      }
      if (newer?.notifications && prune) continue;
      const managed = new Set(newer?.notifications?.map(({ name }) => name));
      for (const notification of notifications.filter(({ name }) => !managed.has(name))) {
        for (const { kind, name } of referencesOf(notification)) {
          const identity = identityOf(kind, name);
          if (!namesBefore(kind).has(identity) || namesAfter(kind).has(identity)) continue;
          const user = `${current.slug}/${path}/${notification.name}`;
          addError(
            errors,
            `${at}/${sectionOf(kind, file, index)}`,
            `removes ${kind} ${name}, which ${user} still uses`,
          );
        }
      }
    }
  }
}

/** Lists up to 20 of the existing names for an error message. */
export function listChoices(all: Iterable<string>): string {
  const names = [...new Set(all)].filter(Boolean);
  return names.length > 0 ? `use one of ${names.slice(0, 20).join(', ')}` : 'there are none';
}

export function unknownName(kind: Reference['kind'], name: string, choice: string): string {
  const quoted = JSON.stringify(name);
  if (kind === 'schedule') return `there is no schedule ${quoted} in this project (${choice})`;
  if (kind === 'list') return `there is no distribution list ${quoted} in this project (${choice})`;
  if (kind === 'category') return `there is no category ${quoted} (${choice})`;
  if (kind === 'layout') return `there is no layout ${quoted} (${choice})`;
  return `there is no channel with the slug or type ${quoted} (${choice})`;
}

function memoize<T>(find: (kind: Reference['kind']) => T): (kind: Reference['kind']) => T {
  const found = new Map<Reference['kind'], T>();
  return kind => {
    if (!found.has(kind)) found.set(kind, find(kind));
    return found.get(kind)!;
  };
}

function indexBySlug<T extends { slug: string }>(items: readonly T[] | undefined): Map<string, T> {
  return new Map((items ?? []).map(item => [item.slug, item]));
}

/** Returns the section that removes the object: the project's if the document has it, otherwise the organization's. */
function sectionOf(kind: Reference['kind'], file: ProjectState | undefined, index: number): string {
  if (kind === 'list') return `projects/${index}/distribution_lists`;
  if (kind === 'schedule') return `projects/${index}/schedules`;
  const section = kind === 'layout' ? 'layouts' : 'channels';
  return file?.[section] ? `projects/${index}/${section}` : section;
}

/** Yields the stored events that the document does not remove, with their counterparts in it. */
function* remainingEvents(project: ProjectState, file: ProjectState | undefined, prune: boolean) {
  const applications = indexBySlug(file?.applications);
  for (const application of project.applications ?? []) {
    const inFile = applications.get(application.slug);
    if (!inFile && file?.applications && prune) continue;
    const events = indexBySlug(inFile?.events);
    for (const event of application.events ?? []) {
      const newer = events.get(event.slug);
      if (!newer && inFile?.events && prune) continue;
      yield { path: [project.slug, application.slug, event.slug].join('/'), event, newer };
    }
  }
}

function referencesOf({
  channels,
  recipients,
  steps,
  content,
}: NotificationState): { kind: Reference['kind']; name: string }[] {
  const names = new Set([...channels.filter(name => name !== personal), ...Object.keys(content.overrides)]);
  const audiences = [recipients, ...(steps ?? []).flatMap(step => step.recipients ?? [])];
  const lists = audiences.flatMap(({ list }) => list ?? []);
  const schedules = audiences.flatMap(({ schedule }) => schedule ?? []);
  const { layout } = content.message;
  return [
    ...[...names].map(name => ({ kind: 'channel' as const, name })),
    ...[...new Set(lists)].map(name => ({ kind: 'list' as const, name })),
    ...[...new Set(schedules)].map(name => ({ kind: 'schedule' as const, name })),
    ...(layout === undefined ? [] : [{ kind: 'layout' as const, name: layout }]),
  ];
}

type Shared = Pick<OrganizationState, 'channels' | 'layouts' | 'categories'>;

function namesOf(
  kind: Reference['kind'],
  project: Shared & Pick<ProjectState, 'distribution_lists' | 'schedules'>,
  organization: Shared,
) {
  const both = <T>(own: T[] = [], shared: T[] = []) => [...own, ...shared];
  const named = {
    category: () => [generalSlug, ...(organization.categories ?? []).map(({ slug }) => slug)],
    list: () => (project.distribution_lists ?? []).map(({ name }) => name),
    schedule: () => (project.schedules ?? []).map(({ slug }) => slug),
    channel: () => both(project.channels, organization.channels).flatMap(({ slug, type }) => [slug, type]),
    layout: () => both(project.layouts, organization.layouts).map(({ name }) => name),
  };
  const names = named[kind]();
  return new Map(names.map(name => [identityOf(kind, name), name]));
}

function merged<T>(before: T[] = [], after: T[] | undefined, prune: boolean, identityOf: (item: T) => string): T[] {
  if (!after) return before;
  if (prune) return after;
  const named = new Set(after.map(identityOf));
  return [...after, ...before.filter(item => !named.has(identityOf(item)))];
}
