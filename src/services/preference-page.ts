/** What the hosted page shows a recipient of their own, and what it lets them change. */
import {
  type Category,
  type Choices,
  categoryScope,
  everything,
  generalCategory,
  generalSlug,
  isOffered,
  isPersonal,
  localizeCategory,
  type PreferenceSource,
  ruleOn,
} from '../core/preferences.ts';
import type { QuietHours } from '../core/quiet-hours.ts';
import { maskAddress } from '../core/recipient-links.ts';
import { addressKind } from '../core/text.ts';
import { listWholeAddresses } from '../db/addresses.ts';
import { findCategory } from '../db/categories.ts';
import { listPreferenceHistory, listPreferences, type PreferenceWrite } from '../db/preferences.ts';
import type { LinkedUser } from '../db/recipient-links.ts';
import { listShownCategories } from './categories.ts';
import type { Deps } from './deps.ts';
import { listChannelTypes, toChoices, writeChoices, writeQuiet } from './preferences.ts';

export type { LinkedUser } from '../db/recipient-links.ts';
export { sampleToken } from './message-links.ts';
export { findLinkHolder, findUnsubscribing, preferencesPath } from './recipient-links.ts';

export interface PageCategory {
  slug: string;
  name: string;
  description: string;
  isRequired: boolean;
  /** By channel type; one that is absent is not offered. */
  channels: Record<string, boolean>;
}

export interface PreferencePage {
  types: string[];
  categories: PageCategory[];
  /** Masked: whoever holds the link recognises their own. */
  addresses: { type: string; value: string }[];
  lastChange: { at: Date; source: PreferenceSource } | undefined;
}

const mostAddresses = 50;

export async function readPage(deps: Deps, person: LinkedUser, locale: string): Promise<PreferencePage> {
  const { db } = deps;
  const organizationId = person.organization_id;
  const [offer, preferences, addresses, [last]] = await Promise.all([
    readOffer(deps, organizationId),
    listPreferences(db, organizationId, person.id),
    listWholeAddresses(db, organizationId, person.id, { after: 0, limit: mostAddresses }),
    listPreferenceHistory(db, organizationId, person.id, { after: 0, limit: 1 }),
  ]);
  return {
    ...showOffer(offer, toChoices(preferences), locale),
    addresses: addresses
      .filter(({ name, disabled_at }) => disabled_at === null && !['webhook', 'webpush'].includes(addressKind(name)))
      .map(({ name, value }) => ({ type: addressKind(name), value: maskAddress(value) })),
    lastChange: last && { at: last.changed_at, source: last.source as PreferenceSource },
  };
}

/** What somebody sees who has not chosen anything yet: for those who make the page. */
export async function readSamplePage(deps: Deps, organizationId: number, locale: string): Promise<PreferencePage> {
  const offer = await readOffer(deps, organizationId);
  const addresses = [{ type: 'email', value: maskAddress('ada@example.com') }];
  return { ...showOffer(offer, {}, locale), addresses, lastChange: undefined };
}

interface Offer {
  types: string[];
  categories: Category[];
}

async function readOffer(deps: Deps, organizationId: number): Promise<Offer> {
  const [categories, types] = await Promise.all([
    listShownCategories(deps, organizationId),
    listChannelTypes(deps, organizationId),
  ]);
  return { categories, types: types.filter(isPersonal) };
}

function showOffer({ types, categories }: Offer, choices: Choices, locale: string) {
  return {
    types,
    categories: categories.map(category => {
      const offered = types.filter(type => isOffered(category, type));
      const topic = { category, event: undefined };
      return {
        slug: category.slug,
        ...localizeCategory(category, locale),
        isRequired: category.kind === 'required',
        channels: Object.fromEntries(offered.map(type => [type, ruleOn(topic, type, choices).enabled])),
      };
    }),
  };
}

/** What the recipient sees, and what they made of it: only what differs was chosen. */
export interface PageChoice {
  category: string;
  type: string;
  was: boolean;
  is: boolean;
}

/** Undefined: not changed. */
export interface PageQuiet {
  timezone?: string | null;
  quiet_hours?: QuietHours | null;
}

/** Throws where the quiet hours make no sense; then nothing is saved. */
export async function savePage(deps: Deps, person: LinkedUser, choices: PageChoice[], quiet: PageQuiet): Promise<void> {
  const page = await readPage(deps, person, 'en');
  const offered = new Map(page.categories.filter(one => !one.isRequired).map(one => [one.slug, one.channels]));
  const writes = choices
    .filter(({ category, type, was, is }) => was !== is && Object.hasOwn(offered.get(category) ?? {}, type))
    .map(({ category, type, is }) => ({ scope: categoryScope(category), channel_type: type, enabled: is }));
  await write(deps, person, writes, 'page', quiet);
}

/** Everything but what is required; also what was switched on by itself before, which a broad choice alone would leave on. */
export async function switchAllOff(deps: Deps, person: LinkedUser): Promise<void> {
  const chosen = await listPreferences(deps.db, person.organization_id, person.id);
  const on = chosen.filter(({ enabled }) => enabled).map(({ scope, channel_type }) => ({ scope, channel_type }));
  const all = [
    { scope: everything, channel_type: '' },
    ...on.filter(({ scope, channel_type }) => scope !== everything || channel_type !== ''),
  ];
  await write(
    deps,
    person,
    all.map(one => ({ ...one, enabled: false })),
    'page',
  );
}

export interface Unsubscribing {
  person: LinkedUser;
  category: string;
  channelType: string;
}

/** From one category by one channel type. False when it is required, and nothing was changed. */
export async function unsubscribe(deps: Deps, { person, category, channelType }: Unsubscribing): Promise<boolean> {
  const found = await findCategory(deps.db, person.organization_id, category);
  if (found?.kind === 'required') return false;
  const choice = { scope: categoryScope(category), channel_type: channelType, enabled: false };
  await write(deps, person, [choice], 'one-click');
  return true;
}

/** As the recipient reads it; a category that is gone is shown by its slug. */
export async function nameCategory({ db }: Deps, { person, category }: Unsubscribing, locale: string) {
  const found = await findCategory(db, person.organization_id, category);
  const known = found ?? (category === generalSlug ? generalCategory : undefined);
  return {
    name: known ? localizeCategory(known, locale).name : category,
    isRequired: known?.kind === 'required',
  };
}

async function write(
  deps: Deps,
  person: LinkedUser,
  writes: PreferenceWrite[],
  source: PreferenceSource,
  quiet: PageQuiet = {},
) {
  const actor = { ...deps.actor, kind: 'visitor' as const, id: null, name: person.username };
  const organizationId = person.organization_id;
  await deps.db.transaction().execute(async trx => {
    await writeChoices({ actor }, trx, organizationId, person, writes, source);
    await writeQuiet({ actor }, trx, organizationId, person, quiet, source);
  });
}
