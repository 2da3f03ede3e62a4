/** What people want to get: their choices, what they amount to, and how they came about. */
import { media } from '../core/configuration/document.ts';
import { AppError, type FieldErrors, invalid } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
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
  ruleOn,
  type Topic,
} from '../core/preferences.ts';
import { findQuietMistakes } from '../core/quiet-hours.ts';
import { findCategory } from '../db/categories.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import * as rows from '../db/preferences.ts';
import { differences, record } from './audit.ts';
import { listShownCategories } from './categories.ts';
import type { Deps } from './deps.ts';
import { readTimezone } from './users.ts';

export interface Preference {
  category: string | null;
  event: string | null;
  channel_type: string | null;
  enabled: boolean;
  source: PreferenceSource;
  changed_at: string;
}

interface Person {
  id: number;
  username: string;
}

export async function listPreferences({ db }: Deps, organizationId: number, userId: number): Promise<Preference[]> {
  return (await rows.listPreferences(db, organizationId, userId)).map(show);
}

/** Their own time zone and quiet hours; null: the organization's. */
export async function getQuietPreference({ db }: Deps, organizationId: number, userId: number) {
  const found = await rows.findQuietPreference(db, organizationId, userId);
  if (!found) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
  return found;
}

/** Merges: what is not named stays as it is. */
export async function changePreferences(
  deps: Deps,
  organizationId: number,
  user: Person,
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
    await writeChoices(deps, trx, organizationId, user, writes, source);
    await writeQuiet(deps, trx, organizationId, user, quiet, source);
  });
}

/** In the caller's transaction, with what the audit log says of it. */
export async function writeChoices(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  user: Person,
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

/** The same for quiet hours and the time zone. Throws where they make no sense. */
export async function writeQuiet(
  deps: Pick<Deps, 'actor'>,
  trx: Db,
  organizationId: number,
  user: Person,
  { timezone: zone, quiet_hours }: Partial<rows.QuietPreference>,
  source: PreferenceSource,
): Promise<void> {
  const timezone = zone === undefined ? undefined : readTimezone(zone);
  const mistakes = quiet_hours ? Object.entries(findQuietMistakes(quiet_hours)) : [];
  if (mistakes.length > 0) {
    throw invalid(Object.fromEntries(mistakes.map(([field, message]) => [`quiet_hours/${field}`, [message]])));
  }
  const before = await rows.findQuietPreference(trx, organizationId, user.id);
  if (!before) throw new AppError('user.not_found', 'the user has been deleted meanwhile');
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
      errors[`${at}/event`] = ['give a category or an event, not both'];
    if (channel_type !== undefined && !(media as readonly string[]).includes(channel_type)) {
      errors[`${at}/channel_type`] = [`is not a channel type (there are ${media.join(', ')})`];
    }
    const key = choiceKey(scopeOf(change), channel_type ?? '');
    if (seen.has(key)) errors[at] = ['is there twice'];
    seen.add(key);
    // What is withdrawn may be about something that is gone.
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
  return slug === generalSlug || (await findCategory(db, organizationId, slug)) !== undefined;
}

function scopeOf({ category, event }: { category?: string; event?: string }): string {
  if (event !== undefined) return eventScope(event);
  return category === undefined ? everything : categoryScope(category);
}

/** The other way round. */
export function readScope(scope: string): { category: string | null; event: string | null } {
  const [kind, name = ''] = scope.split(':');
  return { category: kind === 'category' ? name : null, event: kind === 'event' ? name : null };
}

function show({ scope, channel_type, changed_at, ...row }: rows.PreferenceRow): Preference {
  return {
    ...readScope(scope),
    channel_type: channel_type || null,
    enabled: row.enabled,
    source: row.source,
    changed_at: changed_at.toISOString(),
  };
}

export async function listPreferenceHistory({ db }: Deps, organizationId: number, userId: number, page: PageRequest) {
  const changes = await rows.listPreferenceHistory(db, organizationId, userId, page);
  return changes.map(({ scope, channel_type, changed_at, ...change }) => ({
    ...change,
    ...readScope(scope),
    channel_type: channel_type || null,
    changed_at: changed_at.toISOString(),
  }));
}

export interface Effective {
  category: { slug: string; name: string; kind: string };
  event: string | null;
  channels: {
    type: string;
    enabled: boolean;
    /** Whether the preference page lets the person choose it. */
    offered: boolean;
    decided_by: 'required' | 'preference' | 'category' | 'default';
    preference: Preference | null;
  }[];
}

/** What holds for an event or a category, for each channel type, and what decided it. */
export async function getEffective(
  deps: Deps,
  organizationId: number,
  userId: number,
  about: { event?: string; category?: string },
): Promise<Effective> {
  const topic = await getTopic(deps, organizationId, about);
  const choices = toChoices(await rows.listPreferences(deps.db, organizationId, userId));
  return effectiveOn(topic, await listChannelTypes(deps, organizationId), choices);
}

/** The same for every category that recipients choose by. */
export async function listEffective(deps: Deps, organizationId: number, userId: number): Promise<Effective[]> {
  const [categories, types, preferences] = await Promise.all([
    listShownCategories(deps, organizationId),
    listChannelTypes(deps, organizationId),
    rows.listPreferences(deps.db, organizationId, userId),
  ]);
  const choices = toChoices(preferences);
  return categories.map(category => effectiveOn({ category, event: undefined }, types, choices));
}

function effectiveOn(topic: Topic, types: string[], choices: Choices): Effective {
  const { category, event = null } = topic;
  return {
    category: { slug: category.slug, name: category.name, kind: category.kind },
    event,
    channels: types.map(type => {
      const { enabled, decidedBy, choice } = ruleOn(topic, type, choices);
      const preference = choice && {
        ...readScope(choice.scope),
        channel_type: choice.channelType || null,
        enabled: choice.on,
        source: choice.source,
        changed_at: choice.at,
      };
      const offered = category.kind !== 'required' && isOffered(category, type);
      return { type, enabled, offered, decided_by: decidedBy, preference: preference ?? null };
    }),
  };
}

/** As the engine reads them. */
export function toChoices(preferences: rows.PreferenceRow[]): Choices {
  return Object.fromEntries(
    preferences.map(({ scope, channel_type, enabled, source, changed_at }) => [
      choiceKey(scope, channel_type),
      { on: enabled, source, at: changed_at.toISOString() },
    ]),
  );
}

/** Those of the organization's channels that reach people themselves, and not a room. */
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
    throw invalid({ event: ['give either an event or a category'] });
  }
  if (event !== undefined) {
    const id = await rows.findEventByPath(db, organizationId, event);
    const plan = id === undefined ? undefined : await plans.findEvent(organizationId, id);
    if (!plan) throw new AppError('event.not_found', `there is no event ${JSON.stringify(event)}`);
    return plan.topic;
  }
  const found = await findCategory(db, organizationId, category!);
  if (found) return { category: found, event: undefined };
  if (category === generalSlug) return { category: generalCategory, event: undefined };
  throw new AppError('category.not_found', `there is no category ${JSON.stringify(category)}`);
}
