/** The hosted preference page of a recipient: what it shows, and what the recipient can change. */
import type { Category } from '../../core/configuration/nouns/category.ts';
import { personal } from '../../core/decision/decide.ts';
import {
  type Choices,
  categoryScope,
  everything,
  generalCategory,
  generalSlug,
  isOffered,
  isPersonal,
  localizeCategory,
  type PreferenceSource,
  resolvePreference,
} from '../../core/decision/preferences.ts';
import { AppError } from '../../core/errors.ts';
import { maskAddress } from '../../core/message/recipient-links.ts';
import type { Reach } from '../../core/oncall/reach.ts';
import { addressKind } from '../../core/text/text.ts';
import { findAddress, listWholeAddresses } from '../../db/audience/addresses.ts';
import {
  listPreferenceHistory,
  listPreferences,
  type PreferenceWrite,
  type QuietPreference,
} from '../../db/audience/preferences.ts';
import type { LinkedUser } from '../../db/audience/recipient-links.ts';
import { listAwaitingCode } from '../../db/audience/verification.ts';
import { hasNotificationsNamingChannel } from '../../db/configuration/references.ts';
import { findRow } from '../../db/configuration/rows.ts';
import { listRecipientCategories } from '../configuration/categories.ts';
import type { Deps } from '../deps.ts';
import { listChannelTypes, storePreferences, storeQuietHours, toChoices } from './preferences.ts';
import { asVisitor } from './recipient-links.ts';
import { storeReach } from './users.ts';
import { canReach, confirmCode, sendCode } from './verification.ts';

export { sampleToken } from '../../core/text/live-text.ts';
export type { LinkedUser } from '../../db/audience/recipient-links.ts';
export { findLinkHolder, findUnsubscribeLink, preferencesPath } from './recipient-links.ts';

export type PreferencePage = Awaited<ReturnType<typeof readPage>>;

const maxAddresses = 50;

export async function readPage(deps: Deps, user: LinkedUser, locale: string) {
  const { db } = deps;
  const organizationId = user.organization_id;
  const [offered, preferences, addresses, awaiting, channels, [last], isPersonalUsed] = await Promise.all([
    readOfferedCategories(deps, organizationId),
    listPreferences(db, organizationId, user.id),
    listWholeAddresses(db, organizationId, user.id, { after: 0, limit: maxAddresses }),
    listAwaitingCode(db, organizationId, user.id),
    deps.plans.listChannels(organizationId),
    listPreferenceHistory(db, organizationId, user.id, { after: 0, limit: 1 }),
    hasNotificationsNamingChannel(db, organizationId, personal),
  ]);
  return {
    ...showCategories(offered, toChoices(preferences), locale),
    addresses: addresses
      .filter(
        ({ name, disabled_at }) => disabled_at === null && !['webhook', 'webpush', 'push'].includes(addressKind(name)),
      )
      // Masked, so that the link reveals no address but the recipient recognises it.
      .map(address => ({
        id: address.id,
        type: addressKind(address.name),
        value: maskAddress(address.value),
        isVerified: address.verified_at !== null,
        isAwaitingCode: awaiting.has(address.id),
        isReachable: channels.some(channel => canReach(channel, address)),
      })),
    // Rules are offered to those whom they concern.
    reach: isPersonalUsed ? (user.reach ?? {}) : (user.reach ?? undefined),
    lastChange: last && { at: last.changed_at, source: last.source as PreferenceSource },
  };
}

/** Returns the page as a recipient without preferences sees it, for the preview in the console. */
export async function readSamplePage(deps: Deps, organizationId: number, locale: string): Promise<PreferencePage> {
  const offered = await readOfferedCategories(deps, organizationId);
  const sample = { id: 0, type: 'email', value: maskAddress('ada@example.com') };
  const addresses = [{ ...sample, isVerified: true, isAwaitingCode: false, isReachable: true }];
  return { ...showCategories(offered, {}, locale), addresses, reach: undefined, lastChange: undefined };
}

interface OfferedCategories {
  types: string[];
  categories: Category[];
}

async function readOfferedCategories(deps: Deps, organizationId: number): Promise<OfferedCategories> {
  const [categories, types] = await Promise.all([
    listRecipientCategories(deps, organizationId),
    listChannelTypes(deps, organizationId),
  ]);
  return { categories, types: types.filter(isPersonal) };
}

function showCategories({ types, categories }: OfferedCategories, choices: Choices, locale: string) {
  return {
    types,
    categories: categories.map(category => {
      const offered = types.filter(type => isOffered(category, type));
      const topic = { category, event: undefined };
      return {
        slug: category.slug,
        ...localizeCategory(category, locale),
        isRequired: category.kind === 'required',
        // Whether each channel type is enabled; absent types are not offered.
        channels: Object.fromEntries(offered.map(type => [type, resolvePreference(topic, type, choices).enabled])),
      };
    }),
  };
}

/** A switch on the page, as shown and as submitted. Only differences are saved. */
export interface PageChoice {
  category: string;
  type: string;
  was: boolean;
  is: boolean;
}

/** Undefined fields are left unchanged. */
export type PageQuietHours = Partial<QuietPreference>;

/** Throws when the quiet hours or rules are invalid, and then saves nothing. */
export async function savePage(
  deps: Deps,
  user: LinkedUser,
  choices: PageChoice[],
  quiet: PageQuietHours,
  reach?: Reach,
): Promise<void> {
  const page = await readPage(deps, user, 'en');
  const offered = new Map(page.categories.filter(one => !one.isRequired).map(one => [one.slug, one.channels]));
  const writes = choices
    .filter(({ category, type, was, is }) => was !== is && Object.hasOwn(offered.get(category) ?? {}, type))
    .map(({ category, type, is }) => ({ scope: categoryScope(category), channel_type: type, enabled: is }));
  await savePreferences(deps, user, writes, 'page', quiet, reach);
}

/**
 * Switches off everything that is not required. This includes preferences that were switched on individually, because a
 * broad preference does not override a narrow one.
 */
export async function switchAllOff(deps: Deps, user: LinkedUser): Promise<void> {
  const chosen = await listPreferences(deps.db, user.organization_id, user.id);
  const on = chosen.filter(({ enabled }) => enabled).map(({ scope, channel_type }) => ({ scope, channel_type }));
  const all = [
    { scope: everything, channel_type: '' },
    ...on.filter(({ scope, channel_type }) => scope !== everything || channel_type !== ''),
  ];
  await savePreferences(
    deps,
    user,
    all.map(one => ({ ...one, enabled: false })),
    'page',
  );
}

/** Sends a code to an address of the user, or verifies the address by the code that was entered. */
export async function verifyAddress(deps: Deps, user: LinkedUser, id: number, code: string | undefined): Promise<void> {
  const own = asVisitor(deps, user);
  const organizationId = user.organization_id;
  const address = await findAddress(deps.db, organizationId, user.id, id);
  if (!address) throw new AppError('address.not_found', 'the address has been deleted');
  if (code === undefined) await sendCode(own, { id: organizationId, ...user.organization }, user, address);
  else await confirmCode(own, organizationId, user, address, code);
}

interface UnsubscribeLink {
  user: LinkedUser;
  category: string;
  channelType: string;
}

/** Unsubscribes from one category on one channel type. Returns false, and changes nothing, when it is required. */
export async function unsubscribe(deps: Deps, { user, category, channelType }: UnsubscribeLink): Promise<boolean> {
  const found = await findRow(deps.db, user.organization_id, 'category', { slug: category });
  if (found?.kind === 'required') return false;
  const choice = { scope: categoryScope(category), channel_type: channelType, enabled: false };
  await savePreferences(deps, user, [choice], 'one-click');
  return true;
}

/** Returns the localized name of the category and the recipient's choice; a deleted category is shown by its slug. */
export async function describeCategory({ db }: Deps, link: UnsubscribeLink, locale: string) {
  const { user, category, channelType } = link;
  const [found, preferences] = await Promise.all([
    findRow(db, user.organization_id, 'category', { slug: category }),
    listPreferences(db, user.organization_id, user.id),
  ]);
  const shown = found ?? (category === generalSlug ? generalCategory : undefined);
  const topic = shown && { category: shown, event: undefined };
  return {
    name: shown ? localizeCategory(shown, locale).name : category,
    isRequired: shown?.kind === 'required',
    isOff: topic !== undefined && !resolvePreference(topic, channelType, toChoices(preferences)).enabled,
  };
}

async function savePreferences(
  deps: Deps,
  user: LinkedUser,
  writes: PreferenceWrite[],
  source: PreferenceSource,
  quiet: PageQuietHours = {},
  reach?: Reach,
) {
  const { actor } = asVisitor(deps, user);
  const organizationId = user.organization_id;
  await deps.db.transaction().execute(async trx => {
    await storePreferences({ actor }, trx, organizationId, user, writes, source);
    await storeQuietHours({ actor }, trx, organizationId, user, quiet, source);
    if (reach) await storeReach({ actor }, trx, organizationId, user, reach);
  });
}
