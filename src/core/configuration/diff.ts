/**
 * Computes the steps that turn the current state into the desired one: first creations and updates, from the
 * organization down, then deletions, from the bottom up. A plan shows exactly the steps that an apply carries out.
 */

import { canonicalJson } from '../json.ts';
import { fold } from '../text/text.ts';
import { compareChannels, compareFields, compareWebhooks, type FieldChange } from './fields.ts';
import type {
  AddressState,
  ApplicationState,
  CategoryState,
  ChannelState,
  EventState,
  LayoutState,
  ListState,
  NotificationState,
  OrganizationState,
  ProjectState,
  UserState,
  WebhookState,
} from './state.ts';

export type Action = 'create' | 'update' | 'delete';

export interface Change {
  action: Action;
  noun: Noun;
  /** Slugs and names, as in acme/shop/web/order-paid/receipt. */
  path: string;
  /** Changed fields of an update, otherwise empty. Secrets are masked. */
  fields: FieldChange[];
}

interface StateByNoun {
  organization: OrganizationState;
  channel: ChannelState;
  layout: LayoutState;
  category: CategoryState;
  webhook: WebhookState;
  user: UserState;
  address: AddressState & { username: string };
  project: ProjectState;
  list: ListState;
  member: { username: string };
  application: ApplicationState;
  event: EventState;
  notification: NotificationState;
}
export type Noun = keyof StateByNoun;

/** A row of the database. Its id is set if it exists, and otherwise filled in when it is created. */
export interface RowRef {
  id?: number;
}

export interface StepOf<N extends Noun> extends Change {
  noun: N;
  organization: RowRef;
  /** The row above: project, application, event or list; the organization itself at the top. */
  parent: RowRef;
  row: RowRef;
  /** The desired state; for a deletion, the current one. */
  state: StateByNoun[N];
  before?: StateByNoun[N];
}
export type Step = { [N in Noun]: StepOf<N> }[Noun];

export function diff(
  current: OrganizationState | undefined,
  desired: OrganizationState,
  { prune }: { prune: boolean },
): Step[] {
  const steps: Step[] = [];
  const deletions: Step[] = [];
  const organization: RowRef = { id: current?.id };

  /** Adds the step that an object needs, if any, and returns its row as the parent of nested objects. */
  function step<N extends Noun>(
    noun: N,
    path: string,
    parent: RowRef,
    before: StateByNoun[N] | undefined,
    after: StateByNoun[N] | undefined,
    fields: FieldChange[] = [],
  ): RowRef {
    const row: RowRef = noun === 'organization' ? organization : { id: (before as RowRef | undefined)?.id };
    const action = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
    if (action !== 'update' || fields.length > 0) {
      const state = (after ?? before)!;
      const made = { action, noun, path, fields, organization, parent, row, state, before } as unknown as Step;
      (action === 'delete' ? deletions : steps).push(made);
    }
    return row;
  }

  /** Pairs current with desired items. Items that are not desired are included only when pruning. */
  function pairs<T>(before: T[] | undefined, after: T[] | undefined, identityOf: (item: T) => string) {
    if (!after) return [];
    const left = new Map((before ?? []).map(item => [identityOf(item), item]));
    const result: { before?: T; after?: T }[] = [];
    for (const item of after) {
      const identity = identityOf(item);
      result.push({ before: left.get(identity), after: item });
      left.delete(identity);
    }
    if (prune) for (const item of left.values()) result.push({ before: item });
    return result;
  }

  const bySlug = (item: { slug: string }) => item.slug;

  function channels(parent: RowRef, path: string, was: ChannelState[] | undefined, now: ChannelState[] | undefined) {
    for (const { before, after } of pairs(was, now, bySlug)) {
      const fields = before && after ? compareChannels(before, after) : [];
      step('channel', `${path}/${(after ?? before)!.slug}`, parent, before, after, fields);
    }
  }

  function layouts(parent: RowRef, path: string, was: LayoutState[] | undefined, now: LayoutState[] | undefined) {
    for (const { before, after } of pairs(was, now, ({ name }) => fold(name))) {
      const fields = before && after ? compareFields(before, after) : [];
      step('layout', `${path}/${(after ?? before)!.name}`, parent, before, after, fields);
    }
  }

  function categories() {
    for (const { before, after } of pairs(current?.categories, desired.categories, bySlug)) {
      const fields = before && after ? compareFields(before, after) : [];
      step('category', `${desired.slug}/${(after ?? before)!.slug}`, organization, before, after, fields);
    }
  }

  function webhooks() {
    for (const { before, after } of pairs(current?.webhooks, desired.webhooks, bySlug)) {
      const fields = before && after ? compareWebhooks(before, after) : [];
      step('webhook', `${desired.slug}/${(after ?? before)!.slug}`, organization, before, after, fields);
    }
  }

  function users() {
    const top = desired.slug;
    const all = pairs(current?.users, desired.users, user => user.username);
    for (const user of desired.newUsers ?? []) all.push({ after: user });
    for (const { before, after } of all) {
      const path = `${top}/${(before ?? after)!.username}`;
      step('user', path, organization, before, after, before && after ? compareFields(before, userFields(after)) : []);
    }
    for (const { before, after } of all) {
      if (!after) continue;
      const { username } = after;
      const identity = ({ name, value }: AddressState) => JSON.stringify([name, value]);
      for (const address of pairs(before?.addresses, after.addresses, identity)) {
        const { name, value } = (address.after ?? address.before)!;
        const path = `${top}/${username}/${name}/${value}`;
        const named = (state: AddressState | undefined) => state && { ...state, username };
        step('address', path, organization, named(address.before), named(address.after));
      }
    }
  }

  function lists(project: RowRef, path: string, was: ListState[] | undefined, now: ListState[] | undefined) {
    for (const { before, after } of pairs(was, now, list => fold(list.name))) {
      const here = `${path}/${(after ?? before)!.name}`;
      const fields = before && after ? compareFields({ name: before.name }, { name: after.name }) : [];
      const list = step('list', here, project, before, after, fields);
      if (!after) continue;
      for (const member of pairs(before?.members, after.members, username => username)) {
        const username = (member.after ?? member.before)!;
        const named = (name: string | undefined) => (name === undefined ? undefined : { username: name });
        step('member', `${here}/${username}`, list, named(member.before), named(member.after));
      }
    }
  }

  function notifications(event: RowRef, path: string, was: EventState | undefined, now: EventState) {
    for (const { before, after } of pairs(was?.notifications, now.notifications, ({ name }) => name)) {
      const fields = before && after ? compareFields(notificationFields(before), notificationFields(after)) : [];
      step('notification', `${path}/${(after ?? before)!.name}`, event, before, after, fields);
    }
  }

  function events(application: RowRef, path: string, was: ApplicationState | undefined, now: ApplicationState) {
    for (const { before, after } of pairs(was?.events, now.events, bySlug)) {
      const here = `${path}/${(after ?? before)!.slug}`;
      const { notifications: _, ...own } = after ?? {};
      const event = step('event', here, application, before, after, before && after ? compareFields(before, own) : []);
      if (after) notifications(event, here, before, after);
    }
  }

  const row = step(
    'organization',
    desired.slug,
    organization,
    current,
    desired,
    current ? compareFields(current, organizationFields(desired)) : [],
  );
  channels(row, desired.slug, current?.channels, desired.channels);
  layouts(row, desired.slug, current?.layouts, desired.layouts);
  categories();
  webhooks();
  users();
  for (const { before, after } of pairs(current?.projects, desired.projects, bySlug)) {
    const path = `${desired.slug}/${(after ?? before)!.slug}`;
    const fields = before && after ? compareFields({ name: before.name }, { name: after.name }) : [];
    const project = step('project', path, row, before, after, fields);
    if (!after) continue;
    channels(project, path, before?.channels, after.channels);
    layouts(project, path, before?.layouts, after.layouts);
    lists(project, path, before?.lists, after.lists);
    for (const pair of pairs(before?.applications, after.applications, bySlug)) {
      const here = `${path}/${(pair.after ?? pair.before)!.slug}`;
      const names =
        pair.before && pair.after ? compareFields({ name: pair.before.name }, { name: pair.after.name }) : [];
      const application = step('application', here, project, pair.before, pair.after, names);
      if (pair.after) events(application, here, pair.before, pair.after);
    }
  }
  return [...steps, ...deletions.reverse()];
}

/** Returns the part of a step that is shown to users. */
export function toChange({ action, noun, path, fields }: Step): Change {
  return { action, noun, path, fields };
}

/** Returns whether the message needs a new version. */
export function hasContentChanged(before: NotificationState | undefined, after: NotificationState): boolean {
  return !before || canonicalJson(before.content) !== canonicalJson(after.content);
}

/** Returns the organization's own fields, without its sections. */
export function organizationFields(organization: OrganizationState) {
  const { name, retention_days, max_key_lifetime_days, brand_color, logo_url } = organization;
  const { timezone, quiet_hours, max_per_day } = organization;
  return { name, retention_days, max_key_lifetime_days, brand_color, logo_url, timezone, quiet_hours, max_per_day };
}

function userFields({ first_name, last_name, locked, locale, timezone, custom_fields }: UserState) {
  return { first_name, last_name, locked, locale, timezone, custom_fields };
}

function notificationFields({ id: _, content, ...own }: NotificationState) {
  return { ...own, ...content };
}
