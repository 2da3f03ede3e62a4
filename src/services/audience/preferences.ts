/** Users' preferences: the stored choices, the effective preferences that follow from them, and their history. */
import { media } from '../../core/configuration/nouns/schemas.ts';
import {
  type Choices,
  categoryScope,
  choiceKey,
  eventScope,
  everything,
  generalCategory,
  generalSlug,
  isOffered,
  type PreferenceChange,
  type PreferenceSource,
  resolvePreference,
  type Topic,
} from '../../core/decision/preferences.ts';
import { findQuietMistakes } from '../../core/decision/quiet-hours.ts';
import { AppError, type FieldErrors, invalid } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import * as rows from '../../db/audience/preferences.ts';
import { findRow } from '../../db/configuration/rows.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import { listRecipientCategories } from '../configuration/categories.ts';
import type { Deps } from '../deps.ts';
import { differences, record } from '../operations/audit.ts';
import { readTimezone } from './users.ts';

interface UserRef {
  id: number;
  username: string;
}

export async function listPreferences({ db }: Deps, organizationId: number, userId: number) {
  return (await rows.listPreferences(db, organizationId, userId)).map(show);
}

/** Returns the user's own time zone and quiet hours; null where the organization's apply. */
export async function getQuietPreference({ db }: Deps, organizationId: number, userId: number) {
  const found = await rows.findQuietPreference(db, organizationId, userId);
  if (!found) throw new AppError('user.not_found', 'the user has been deleted');
  return found;
}

/** Merges the changes: preferences that are not included are left unchanged. */
export async function changePreferences(
  deps: Deps,
  organizationId: number,
  user: UserRef,
  { preferences: changes = [], ...quiet }: { preferences?: PreferenceChange[] } & Partial<rows.QuietPreference>,
  source: PreferenceSource,
): Promise<void> {
  await deps.db.transaction().execute(async trx => {
    await checkChanges(trx, organizationId, changes);
    const writes = changes.map(({ category, event, channel_type, enabled }) => ({
      scope: scopeOf({ category, event }),
      channel_type: channel_type ?? '',
      enabled,
    }));
    await storePreferences(deps, trx, organizationId, user, writes, source);
    await storeQuietHours(deps, trx, organizationId, user, quiet, source);
  });
}

/** Stores preferences in the caller's transaction, and records the changes in the audit log. Returns the changes. */
export async function storePreferences(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  user: UserRef,
  writes: rows.PreferenceWrite[],
  source: PreferenceSource,
): Promise<rows.PreferenceWrite[]> {
  if (writes.length === 0) return [];
  const changed = await rows.putPreferences(trx, organizationId, user.id, writes, { source, by: deps.actor.name });
  if (changed.length > 0) {
    const after = Object.fromEntries(
      changed.map(({ scope, channel_type, enabled }) => [choiceKey(scope, channel_type), enabled]),
    );
    const entry = { action: 'update', noun: 'preference', path: user.username, after: { ...after, source } };
    await record(deps, trx, organizationId, entry);
  }
  return changed;
}

/** Stores quiet hours and time zone in the caller's transaction. Throws when they are invalid. */
export async function storeQuietHours(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  user: UserRef,
  { timezone: zone, quiet_hours }: Partial<rows.QuietPreference>,
  source: PreferenceSource,
): Promise<void> {
  const timezone = zone === undefined ? undefined : readTimezone(zone);
  const mistakes = quiet_hours ? Object.entries(findQuietMistakes(quiet_hours)) : [];
  if (mistakes.length > 0) {
    throw invalid(Object.fromEntries(mistakes.map(([field, message]) => [`quiet_hours/${field}`, [message]])));
  }
  const before = await rows.findQuietPreference(trx, organizationId, user.id);
  if (!before) throw new AppError('user.not_found', 'the user has been deleted');
  const after = { timezone: timezone ?? before.timezone, quiet_hours: quiet_hours ?? before.quiet_hours };
  if (timezone === null) after.timezone = null;
  if (quiet_hours === null) after.quiet_hours = null;
  const changed = differences(before, after);
  if (!changed) return;
  await rows.putQuietPreference(trx, organizationId, user.id, after);
  const sides = { before: changed.before, after: { ...(changed.after as JsonObject), source } };
  await record(deps, trx, organizationId, { action: 'update', noun: 'preference', path: user.username, ...sides });
}

async function checkChanges(db: Db, organizationId: number, changes: PreferenceChange[]): Promise<void> {
  const errors: FieldErrors = {};
  const seen = new Set<string>();
  for (const [i, change] of changes.entries()) {
    const { category, event, channel_type } = change;
    const at = `preferences/${i}`;
    if (category !== undefined && event !== undefined)
      errors[`${at}/event`] = ['cannot be combined with a category: use one of them'];
    if (channel_type !== undefined && !(media as readonly string[]).includes(channel_type)) {
      errors[`${at}/channel_type`] = [`must be one of ${media.join(', ')}`];
    }
    const key = choiceKey(scopeOf(change), channel_type ?? '');
    if (seen.has(key)) errors[at] = ['is a duplicate'];
    seen.add(key);
    // A preference for a deleted category or event can still be removed.
    if (change.enabled === null) continue;
    if (category !== undefined && !(await hasCategory(db, organizationId, category))) {
      errors[`${at}/category`] = [`there is no category ${JSON.stringify(category)}`];
    }
    if (event !== undefined && (await rows.findEventByPath(db, organizationId, event)) === undefined) {
      errors[`${at}/event`] = [`there is no event ${JSON.stringify(event)}`];
    }
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

async function hasCategory(db: Db, organizationId: number, slug: string): Promise<boolean> {
  return slug === generalSlug || (await findRow(db, organizationId, 'category', { slug })) !== undefined;
}

function scopeOf({ category, event }: { category?: string; event?: string }): string {
  if (event !== undefined) return eventScope(event);
  return category === undefined ? everything : categoryScope(category);
}

/** The inverse of `scopeOf`. */
function readScope(scope: string): { category: string | null; event: string | null } {
  const [kind, name = ''] = scope.split(':');
  return { category: kind === 'category' ? name : null, event: kind === 'event' ? name : null };
}

function show<Row extends { scope: string; channel_type: string }>({ scope, channel_type, ...row }: Row) {
  return { ...row, ...readScope(scope), channel_type: channel_type || null };
}

export async function listPreferenceHistory({ db }: Deps, organizationId: number, userId: number, page: PageRequest) {
  return (await rows.listPreferenceHistory(db, organizationId, userId, page)).map(show);
}

/** Returns the effective preference for an event or a category by channel type, and what decided it. */
export async function getEffectivePreference(
  deps: Deps,
  organizationId: number,
  userId: number,
  subject: { event?: string; category?: string },
) {
  const topic = await getTopic(deps, organizationId, subject);
  const choices = toChoices(await rows.listPreferences(deps.db, organizationId, userId));
  return effectivePreference(topic, await listChannelTypes(deps, organizationId), choices);
}

/** Returns the effective preferences for every category that recipients can choose. */
export async function listEffectivePreferences(deps: Deps, organizationId: number, userId: number) {
  const [categories, types, preferences] = await Promise.all([
    listRecipientCategories(deps, organizationId),
    listChannelTypes(deps, organizationId),
    rows.listPreferences(deps.db, organizationId, userId),
  ]);
  const choices = toChoices(preferences);
  return categories.map(category => effectivePreference({ category, event: undefined }, types, choices));
}

function effectivePreference(topic: Topic, types: string[], choices: Choices) {
  const { category, event = null } = topic;
  return {
    category: { slug: category.slug, name: category.name, kind: category.kind },
    event,
    channels: types.map(type => {
      const { enabled, decidedBy, choice } = resolvePreference(topic, type, choices);
      const preference = choice && {
        ...readScope(choice.scope),
        channel_type: choice.channelType || null,
        enabled: choice.on,
        source: choice.source,
        changed_at: choice.at,
      };
      // Whether the preference page offers it.
      const offered = category.kind !== 'required' && isOffered(category, type);
      return { type, enabled, offered, decided_by: decidedBy, preference: preference ?? null };
    }),
  };
}

/** Converts preferences to the form that the engine uses. */
export function toChoices(preferences: rows.PreferenceRow[]): Choices {
  return Object.fromEntries(
    preferences.map(({ scope, channel_type, enabled, source, changed_at }) => [
      choiceKey(scope, channel_type),
      { on: enabled, source, at: changed_at.toISOString() },
    ]),
  );
}

/** Lists the types of the organization's channels that reach individual users rather than a chat room. */
export async function listChannelTypes({ plans }: Pick<Deps, 'plans'>, organizationId: number): Promise<string[]> {
  const channels = await plans.listChannels(organizationId);
  const types = new Set(channels.filter(({ reach }) => reach !== 'room').map(({ type }) => type));
  return media.filter(type => types.has(type));
}

async function getTopic(
  { db, plans }: Deps,
  organizationId: number,
  { event, category }: { event?: string; category?: string },
): Promise<Topic> {
  if ((event === undefined) === (category === undefined)) {
    throw invalid({ event: ['must be set, or else category: use exactly one of them'] });
  }
  if (event !== undefined) {
    const id = await rows.findEventByPath(db, organizationId, event);
    const plan = id === undefined ? undefined : await plans.findEvent(organizationId, id);
    if (!plan) throw new AppError('event.not_found', `there is no event ${JSON.stringify(event)}`);
    return plan.topic;
  }
  const found = await findRow(db, organizationId, 'category', { slug: category! });
  if (found) return { category: found, event: undefined };
  if (category === generalSlug) return { category: generalCategory, event: undefined };
  throw new AppError('category.not_found', `there is no category ${JSON.stringify(category)}`);
}
