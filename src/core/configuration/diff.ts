/**
 * What has to be done to make what is into what is to be: first what is created and changed, from the organization
 * down, then what is deleted, from the bottom up. The steps that are shown are the steps that are carried out.
 */

import { canonicalJson } from '../json.ts';
import { fold } from '../text.ts';
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
  /** Of an update: what differs. A secret is never shown. */
  fields: FieldChange[];
}

interface States {
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
export type Noun = keyof States;

/** A row: its id is known when it exists, and filled in by whoever creates it. */
export interface Place {
  id?: number;
}

export interface StepOf<N extends Noun> extends Change {
  noun: N;
  organization: Place;
  /** The row above: project, application, event or list; the organization itself at the top. */
  parent: Place;
  place: Place;
  /** What is to be; of a deletion, what was. */
  state: States[N];
  before?: States[N];
}
export type Step = { [N in Noun]: StepOf<N> }[Noun];

export function diff(
  current: OrganizationState | undefined,
  desired: OrganizationState,
  { prune }: { prune: boolean },
): Step[] {
  const steps: Step[] = [];
  const deletions: Step[] = [];
  const organization: Place = { id: current?.id };

  /** Emits the step that this noun needs, if any, and returns its place for those below. */
  function step<N extends Noun>(
    noun: N,
    path: string,
    parent: Place,
    before: States[N] | undefined,
    after: States[N] | undefined,
    fields: FieldChange[] = [],
  ): Place {
    const place: Place = noun === 'organization' ? organization : { id: (before as Place | undefined)?.id };
    const action = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
    if (action !== 'update' || fields.length > 0) {
      const state = (after ?? before)!;
      const made = { action, noun, path, fields, organization, parent, place, state, before } as unknown as Step;
      (action === 'delete' ? deletions : steps).push(made);
    }
    return place;
  }

  /** Pairs of what is and what is to be; what is no longer to be only when it is to be deleted. */
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

  function channels(parent: Place, path: string, was: ChannelState[] | undefined, now: ChannelState[] | undefined) {
    for (const { before, after } of pairs(was, now, bySlug)) {
      const fields = before && after ? compareChannels(before, after) : [];
      step('channel', `${path}/${(after ?? before)!.slug}`, parent, before, after, fields);
    }
  }

  function layouts(parent: Place, path: string, was: LayoutState[] | undefined, now: LayoutState[] | undefined) {
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
    for (const newcomer of desired.newcomers ?? []) all.push({ after: newcomer });
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

  function lists(project: Place, path: string, was: ListState[] | undefined, now: ListState[] | undefined) {
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

  function notifications(event: Place, path: string, was: EventState | undefined, now: EventState) {
    for (const { before, after } of pairs(was?.notifications, now.notifications, ({ name }) => name)) {
      const fields = before && after ? compareFields(notificationFields(before), notificationFields(after)) : [];
      step('notification', `${path}/${(after ?? before)!.name}`, event, before, after, fields);
    }
  }

  function events(application: Place, path: string, was: ApplicationState | undefined, now: ApplicationState) {
    for (const { before, after } of pairs(was?.events, now.events, bySlug)) {
      const here = `${path}/${(after ?? before)!.slug}`;
      const { notifications: _, ...own } = after ?? {};
      const event = step('event', here, application, before, after, before && after ? compareFields(before, own) : []);
      if (after) notifications(event, here, before, after);
    }
  }

  const place = step(
    'organization',
    desired.slug,
    organization,
    current,
    desired,
    current ? compareFields(current, organizationFields(desired)) : [],
  );
  channels(place, desired.slug, current?.channels, desired.channels);
  layouts(place, desired.slug, current?.layouts, desired.layouts);
  categories();
  webhooks();
  users();
  for (const { before, after } of pairs(current?.projects, desired.projects, bySlug)) {
    const path = `${desired.slug}/${(after ?? before)!.slug}`;
    const fields = before && after ? compareFields({ name: before.name }, { name: after.name }) : [];
    const project = step('project', path, place, before, after, fields);
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

/** For showing: without what carries it out. */
export function toChange({ action, noun, path, fields }: Step): Change {
  return { action, noun, path, fields };
}

/** Whether the message has to be given a new version. */
export function saysOtherwise(before: NotificationState | undefined, after: NotificationState): boolean {
  return !before || canonicalJson(before.content) !== canonicalJson(after.content);
}

/** Its own fields, without what is in it. */
export function organizationFields(organization: OrganizationState) {
  const { name, retention_days, max_key_lifetime_days, brand_color, logo_url } = organization;
  const { timezone, quiet_hours, most_per_day } = organization;
  return { name, retention_days, max_key_lifetime_days, brand_color, logo_url, timezone, quiet_hours, most_per_day };
}

function userFields({ first_name, last_name, locked, locale, timezone, custom_fields }: UserState) {
  return { first_name, last_name, locked, locale, timezone, custom_fields };
}

function notificationFields({ id: _, content, ...own }: NotificationState) {
  return { ...own, ...content };
}
