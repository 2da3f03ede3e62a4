/**
 * What notifications name: channels by slug or type, distribution lists and layouts. Names that a document does not explain are
 * looked up in the sections that it leaves alone; and what a document takes away must not be what something that it
 * does not mention still needs.
 */

import type { FieldErrors } from '../errors.ts';
import { generalSlug } from '../preferences.ts';
import { fold } from '../text.ts';
import { addError } from './shape.ts';
import type { NotificationState, OrganizationState, ProjectState } from './state.ts';

/** A name that the document does not explain itself. */
export interface Reference {
  at: string;
  kind: 'category' | 'channel' | 'list' | 'layout';
  name: string;
  organization: string;
  project: string;
}

/** Slugs and types are in lower case, and what is sent looks for them as they are; names are the same in any case. */
export function identityOf(kind: Reference['kind'], name: string): string {
  if (kind === 'list') return fold(name.trim());
  return kind === 'layout' ? fold(name) : name;
}

/** The references that lead nowhere in what is stored either. */
export function checkReferences(
  references: readonly Reference[],
  desired: readonly OrganizationState[],
  current: ReadonlyMap<string, OrganizationState>,
  errors: FieldErrors,
): void {
  const projectOf = (organization: OrganizationState | undefined, slug: string) =>
    organization?.projects?.find(project => project.slug === slug);
  for (const { at, kind, name, organization, project } of references) {
    const file = desired.find(({ slug }) => slug === organization);
    const [inFile, stored] = [projectOf(file, project), projectOf(current.get(organization), project)];
    const stays = current.get(organization);
    const known = namesOf(
      kind,
      {
        lists: inFile?.lists ?? stored?.lists,
        channels: inFile?.channels ?? stored?.channels,
        layouts: inFile?.layouts ?? stored?.layouts,
      },
      {
        channels: file?.channels ?? stays?.channels,
        layouts: file?.layouts ?? stays?.layouts,
        categories: file?.categories ?? stays?.categories,
      },
    );
    if (!known.has(identityOf(kind, name))) addError(errors, at, unknownName(kind, name, [...known.values()]));
  }
}

/** Refuses to take from a notification that the document does not mention what it has now. */
export function checkLeftovers(
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
      lists: merged(project.lists, file?.lists, prune, byName),
    };
    for (const { path, category } of unmentionedEvents(project, file, prune)) {
      if (category === null || namesOf('category', {}, after).has(category)) continue;
      addError(
        errors,
        `${at}/categories`,
        `takes away category ${category}, which ${current.slug}/${path} still names`,
      );
    }
    for (const { path, notification } of unmentioned(project, file, prune)) {
      for (const { kind, name } of namesIn(notification)) {
        const wanted = identityOf(kind, name);
        if (!namesOf(kind, project, current).has(wanted) || namesOf(kind, projectAfter, after).has(wanted)) continue;
        addError(
          errors,
          `${at}/${sectionOf(kind, file, index)}`,
          `takes away ${kind} ${name}, which ${current.slug}/${path} still names`,
        );
      }
    }
  }
}

export function unknownName(kind: Reference['kind'], name: string, known: string[]): string {
  const names = [...new Set(known)].filter(Boolean);
  const choice = names.length > 0 ? `there are ${names.slice(0, 20).join(', ')}` : 'there are none';
  const quoted = JSON.stringify(name);
  if (kind === 'list') return `there is no distribution list ${quoted} in this project (${choice})`;
  if (kind === 'category') return `there is no category ${quoted} (${choice})`;
  if (kind === 'layout') return `there is no layout ${quoted} (${choice})`;
  return `there is no channel of the slug or type ${quoted} (${choice})`;
}

/** Where the document takes it away: in the project, if that has such a section, else in the organization. */
function sectionOf(kind: Reference['kind'], file: ProjectState | undefined, index: number): string {
  if (kind === 'list') return `projects/${index}/distribution_lists`;
  const section = kind === 'layout' ? 'layouts' : 'channels';
  return file?.[section] ? `projects/${index}/${section}` : section;
}

/** Those that stay as they are, because the document does not say anything about them. */
function* unmentioned(project: ProjectState, file: ProjectState | undefined, prune: boolean) {
  for (const application of project.applications ?? []) {
    const newer = file?.applications?.find(({ slug }) => slug === application.slug);
    if (!newer && file?.applications && prune) continue;
    for (const event of application.events ?? []) {
      const newerEvent = newer?.events?.find(({ slug }) => slug === event.slug);
      if (!newerEvent && newer?.events && prune) continue;
      for (const notification of event.notifications ?? []) {
        if (newerEvent?.notifications?.some(({ name }) => name === notification.name)) continue;
        if (newerEvent?.notifications && prune) continue;
        yield { path: [project.slug, application.slug, event.slug, notification.name].join('/'), notification };
      }
    }
  }
}

/** The events that stay as they are, with the category that each names. */
function* unmentionedEvents(project: ProjectState, file: ProjectState | undefined, prune: boolean) {
  for (const application of project.applications ?? []) {
    const newer = file?.applications?.find(({ slug }) => slug === application.slug);
    if (!newer && file?.applications && prune) continue;
    for (const { slug, category } of application.events ?? []) {
      if (newer?.events?.some(event => event.slug === slug) || (newer?.events && prune)) continue;
      yield { path: [project.slug, application.slug, slug].join('/'), category };
    }
  }
}

function namesIn({
  channels,
  recipients,
  steps,
  content,
}: NotificationState): { kind: Reference['kind']; name: string }[] {
  const names = new Set([...channels, ...Object.keys(content.overrides)]);
  const lists = [recipients.list, ...(steps ?? []).map(step => step.recipients?.list)].filter(
    name => name !== undefined,
  );
  const { layout } = content.message;
  return [
    ...[...names].map(name => ({ kind: 'channel' as const, name })),
    ...[...new Set(lists)].map(name => ({ kind: 'list' as const, name })),
    ...(layout === undefined ? [] : [{ kind: 'layout' as const, name: layout }]),
  ];
}

type Shared = Pick<OrganizationState, 'channels' | 'layouts' | 'categories'>;

function namesOf(kind: Reference['kind'], project: Shared & Pick<ProjectState, 'lists'>, organization: Shared) {
  const both = <T>(own: T[] = [], shared: T[] = []) => [...own, ...shared];
  const named = {
    category: () => [generalSlug, ...(organization.categories ?? []).map(({ slug }) => slug)],
    list: () => (project.lists ?? []).map(({ name }) => name),
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
