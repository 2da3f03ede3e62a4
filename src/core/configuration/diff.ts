/**
 * Computes the steps that turn the current state into the desired one: first creations and updates, from the
 * organization down, then deletions, from the bottom up. A plan shows exactly the steps that an apply carries out.
 */

import { canonicalJson } from '../json.ts';
import { fold } from '../text/text.ts';
import { type NounName, nouns, sectionsOf } from './document.ts';
import { compareFields, compareSecrets, type FieldChange, hidden, toProviderEntry } from './fields.ts';
import { pickFields } from './nouns/noun.ts';
import {
  type AddressState,
  type ChannelState,
  isOwnEmail,
  type ListState,
  type NotificationState,
  type OrganizationState,
  type StateByNoun,
  type UserState,
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

type Compare<N extends Noun> = (before: StateByNoun[N], after: StateByNoun[N]) => FieldChange[];

/** Compares what a noun has besides its fields, and the nouns that are not declared. */
const compareMore: { [N in Noun]?: Compare<N> } = {
  channel: (before, after) => {
    const entries = ({ providers }: ChannelState) => ({ providers: providers?.map(toProviderEntry) });
    return [...compareFields(entries(before), entries(after)), ...compareSecrets(before, after)];
  },
  // `before` has its secret if `after` has one.
  webhook: (before, { secret }) =>
    secret === undefined || secret === before.secret ? [] : [{ field: 'secret', from: hidden, to: hidden }],
  // The texts of a second variant are compared as part of the canary.
  notification: (before, after) => compareFields(textsOf(before), textsOf(after)),
  // The same as for webhooks.
  source: (before, after) =>
    (['token', 'secret'] as const)
      .filter(field => after[field] !== undefined && after[field] !== (before[field] ?? ''))
      .map(field => ({ field, from: before[field] ? hidden : null, to: after[field] ? hidden : null })),
  heartbeat: (before, { token }) =>
    token === undefined || token === before.token
      ? []
      : [{ field: 'token', from: before.token ? hidden : null, to: hidden }],
  watch: (before, { url }) =>
    url === undefined || url === (before.url ?? '')
      ? []
      : [{ field: 'url', from: before.url ? hidden : null, to: url ? hidden : null }],
  user: (before, { first_name, last_name, locked, locale, timezone, reach, custom_fields }) =>
    compareFields(before, { first_name, last_name, locked, locale, timezone, reach, custom_fields }),
  address: ({ verified = false }, after) => compareFields({ verified }, { verified: after.verified }),
  list: (before, { name }) => compareFields(before, { name }),
};

/** Returns the last part of the path. */
const nameOf: { [N in Exclude<Noun, NounName>]: (state: StateByNoun[N]) => string } = {
  user: ({ username }) => username,
  address: ({ name, value }) => `${name}/${value}`,
  list: ({ name }) => name,
  member: ({ username }) => username,
};

const textsOf = ({ content: { message, overrides } }: NotificationState) => ({ message, overrides });

export function diff(
  current: OrganizationState | undefined,
  desired: OrganizationState,
  { prune }: { prune: boolean },
): Step[] {
  const steps: Step[] = [];
  const deletions: Step[] = [];
  const organization: RowRef = { id: current?.id };

  /** Adds the steps that sibling objects and those below them need. An undefined section is not managed. */
  function walk<N extends Noun>(
    noun: N,
    path: string,
    parent: RowRef,
    was: StateByNoun[N][] | undefined,
    now: StateByNoun[N][] | undefined,
  ): void {
    const declared = lookUp(noun);
    const name = (state: StateByNoun[N]): string =>
      declared
        ? ((state as Record<string, unknown>)[declared.key] as string)
        : nameOf[noun as 'user'](state as UserState);
    const isFolded = declared?.foldsKey || noun === 'list';
    const identityOf = (state: StateByNoun[N]) => {
      // A name with a slash and the value after it must not look like another name and value.
      if (noun === 'address') {
        const address = state as AddressState;
        return JSON.stringify([address.name, address.value]);
      }
      return isFolded ? fold(name(state)) : name(state);
    };
    const pairs = pair(was, now, prune, identityOf);
    for (const { before, after } of pairs) {
      const state = (after ?? before)!;
      const here = path === '' ? name(state) : `${path}/${name(state)}`;
      const row: RowRef = noun === 'organization' ? organization : { id: (before as RowRef | undefined)?.id };
      const action = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
      const fields =
        before && after
          ? [
              ...(declared ? compareFields(before, pickFields(declared, after as never)) : []),
              ...((compareMore[noun] as Compare<N> | undefined)?.(before, after) ?? []),
            ]
          : [];
      if (action !== 'update' || fields.length > 0) {
        const step = { action, noun, path: here, fields, organization, parent, row, state, before } as unknown as Step;
        (action === 'delete' ? deletions : steps).push(step);
      }
      if (after) walkBelow(noun, here, row, before, after);
    }
  }

  function walkBelow<N extends Noun>(
    noun: N,
    path: string,
    row: RowRef,
    before: StateByNoun[N] | undefined,
    after: StateByNoun[N],
  ): void {
    for (const [section, child] of sectionsOf(noun)) {
      const statesOf = (state: object | undefined) =>
        (state as Record<string, never[] | undefined> | undefined)?.[section];
      walk(child, path, row, statesOf(before), statesOf(after));
      if (section === 'users') walkNewUsers(path);
    }
    if (noun === 'list') {
      const membersOf = (list: ListState | undefined) => list?.members?.map(username => ({ username }));
      walk('member', path, row, membersOf(before as ListState), membersOf(after as ListState));
    }
  }

  /** Users are written in batches: all of them before the first address. */
  function walkNewUsers(path: string): void {
    walk('user', path, organization, [], desired.newUsers);
    for (const { before, after } of pair(current?.users, desired.users, false, nameOf.user)) {
      if (!after) continue;
      const { username } = after;
      const isOwn = (address: AddressState) => isOwnEmail(after, address);
      // A file may spell it in another case than the address is stored in.
      const { email } = before ?? after;
      const addressesOf = (user: UserState | undefined) =>
        user?.addresses?.map(one => ({ ...one, ...(isOwn(one) && { value: email }), username }));
      // Every user has the own email, and a file need not list it.
      const was = addressesOf(before)?.filter(one => !isOwn(one)) ?? [];
      const now = addressesOf(after);
      const own = now?.find(isOwn);
      if (own && before) was.push({ ...own, verified: before.addresses?.find(isOwn)?.verified ?? false });
      walk('address', `${path}/${username}`, organization, was, now);
    }
  }

  walk('organization', '', organization, current && [current], [desired]);
  return [...steps, ...deletions.reverse()];
}

function lookUp(noun: Noun) {
  return noun in nouns ? nouns[noun as NounName] : undefined;
}

/** Pairs current with desired items. Items that are not desired are included only when pruning. */
function pair<T>(before: T[] | undefined, after: T[] | undefined, prune: boolean, identityOf: (item: T) => string) {
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

/** Returns the part of a step that is shown to users. */
export function toChange({ action, noun, path, fields }: Step): Change {
  return { action, noun, path, fields };
}

/** Returns whether the message needs a new version. */
export function hasContentChanged(before: NotificationState | undefined, after: NotificationState): boolean {
  return !before || canonicalJson(before.content) !== canonicalJson(after.content);
}
