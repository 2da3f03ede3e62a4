/** Channels one by one: what stands behind them, without its secrets, and how they fare. */
import type { ChannelEntry, ProviderEntry } from '../core/configuration/document.ts';
import { mergeEntry, refuseChanges, slugAdvice } from '../core/entries.ts';
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import * as rows from '../db/channels.ts';
import type { Place, Slugs } from '../db/organizations.ts';
import type { PageRequest } from '../db/page.ts';
import type { Db } from '../db/pool.ts';
import { type Providers, withoutSecrets } from '../providers/provider.ts';
import { openSecrets } from './channel-secrets.ts';
import type { Deps } from './deps.ts';
import {
  type Check,
  change,
  createdBy,
  type Deleted,
  type Deletion,
  deleteEntry,
  pause,
  putEntry,
  requirePlace,
  resume,
} from './entries.ts';
import { findChannelUses, refuseUsed } from './uses.ts';

export interface ShownProvider {
  use: string;
  [setting: string]: unknown;
  /** Names of the secret settings that are stored. */
  secrets_set: string[];
}

export interface ShownChannel {
  slug: string;
  name: string;
  type: string;
  enabled: boolean;
  on_unknown: 'resend' | 'hold';
  rate_per_second: number | null;
  concurrency: number | null;
  providers: ShownProvider[];
  paused: boolean;
  /** Slug; null for a channel of the organization itself. */
  project: string | null;
  /** Why it cannot send: its secrets cannot be decrypted. */
  problem: string | null;
  created_at: string;
  updated_at: string;
}

export interface Health {
  hours: number;
  sent: number;
  failed: number;
  unknown: number;
}

export interface ChannelForm extends ShownChannel {
  health: Health;
}

export type ChannelChanges = { slug?: unknown; type?: unknown } & {
  [field in Exclude<keyof ChannelEntry, 'slug' | 'type'>]?: ChannelEntry[field] | null;
};

const healthHours = 24;

const typeAdvice = 'its providers and the addresses it reaches are of that type; create another channel';

/** Of the organization, or of a project. */
export async function listChannels({ db }: Deps, organizationId: number, projectId: number | null, page: PageRequest) {
  return rows.listChannels(db, organizationId, projectId, page);
}

/** Its id; undefined when there is none of that slug here. */
export async function findChannel({ db }: Deps, organizationId: number, projectId: number | null, slug: string) {
  return rows.findChannelId(db, organizationId, projectId, slug);
}

export async function getChannel(deps: Deps, organizationId: number, id: number): Promise<ChannelForm> {
  const channel = await read(deps, deps.db, organizationId, id);
  return { ...channel, health: await getHealth(deps.db, organizationId, id) };
}

/** Of the organization and of its projects. */
export async function listWholeChannels(deps: Deps, organizationId: number, page: PageRequest) {
  const details = await rows.listChannelDetails(deps.db, organizationId, page);
  const ids = details.map(row => row.id);
  const healthOf = await readHealth(deps.db, organizationId, ids);
  return details.map(row => ({ id: row.id, ...show(deps, organizationId, row), health: healthOf(row.id) }));
}

/** Of the organization, or with a project in the slugs, of the project. */
export async function createChannel(deps: Deps, slugs: Slugs, entry: ChannelEntry): Promise<ChannelForm> {
  const { id, organizationId } = await change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    const steps = await putEntry(deps, trx, slugs, 'channels', withPlainProviders(entry));
    return { id: createdBy(steps, 'slug', entry), organizationId: organization.id };
  });
  return getChannel(deps, organizationId, id);
}

/** A secret that a provider's entry leaves out stays as it is stored, unless it would go elsewhere. */
export async function updateChannel(
  deps: Deps,
  slugs: Slugs,
  id: number,
  changes: ChannelChanges,
  check: Check<ShownChannel>,
): Promise<ChannelForm> {
  const { channel, organizationId } = await change(deps, slugs, async trx => {
    const { organization } = await requirePlace(trx, slugs);
    const current = await read(deps, trx, organization.id, id);
    check(current);
    refuseChanges(current, changes, { slug: slugAdvice, type: typeAdvice });
    const { slug, name, type, enabled, on_unknown, rate_per_second, concurrency } = current;
    const entry = mergeEntry({ slug, name, type, enabled, on_unknown, rate_per_second, concurrency }, changes);
    await putEntry(deps, trx, slugs, 'channels', withPlainProviders(entry as ChannelEntry));
    return { channel: await read(deps, trx, organization.id, id), organizationId: organization.id };
  });
  return { ...channel, health: await getHealth(deps.db, organizationId, id) };
}

/** Refused while a notification names it. */
export async function deleteChannel(
  deps: Deps,
  slugs: Slugs,
  id: number,
  deletion: Deletion,
  check: Check<ShownChannel>,
): Promise<Deleted> {
  const doomed = {
    noun: 'channel' as const,
    read: (trx: Db, { organization }: Place) => read(deps, trx, organization.id, id),
    check,
    nameOf: ({ slug }: ShownChannel) => slug,
    refuseUsed: async (trx: Db, { organization }: Place, { name }: ShownChannel) =>
      refuseUsed(`channel ${name}`, await findChannelUses(trx, organization.id, id)),
    delete: (trx: Db, { organization }: Place) => rows.deleteChannel(trx, organization.id, id),
  };
  return deleteEntry(deps, slugs, doomed, deletion);
}

export async function pauseChannel(deps: Deps, organizationId: number, channel: { id: number; path: string }) {
  await pause(deps, organizationId, { noun: 'channel', setPaused: rows.setChannelPaused, ...channel });
}

export async function resumeChannel(deps: Deps, organizationId: number, channel: { id: number; path: string }) {
  return resume(deps, organizationId, { noun: 'channel', setPaused: rows.setChannelPaused, ...channel });
}

/** What a channel's answer says besides its entry may be sent back with it. */
function withPlainProviders<Entry extends { providers?: ProviderEntry[] }>({ providers, ...entry }: Entry) {
  const plain = providers?.map(({ secrets_set: _, ...provider }) => provider);
  return { ...entry, ...(plain && { providers: plain }) } as unknown as ChannelEntry;
}

async function read(deps: Deps, db: Db, organizationId: number, id: number): Promise<ShownChannel> {
  const row = await rows.findChannelDetails(db, organizationId, id);
  if (!row) throw new AppError('channel.not_found', 'the channel has been deleted meanwhile');
  return show(deps, organizationId, row);
}

function show({ cipher, providers }: Deps, organizationId: number, row: rows.ChannelDetails): ShownChannel {
  let secrets: JsonObject[] = [];
  let problem: string | null = null;
  try {
    secrets = openSecrets(cipher, organizationId, row);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problem = error.message;
  }
  const { slug, name, type, enabled, on_unknown, rate_per_second, concurrency } = row;
  return {
    slug,
    name,
    type,
    enabled,
    on_unknown,
    rate_per_second,
    concurrency,
    providers: row.providers.map((entry, i) => showProvider(providers, entry, secrets[i] ?? {})),
    paused: row.paused_at !== null,
    project: row.project,
    problem,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function showProvider(providers: Providers, { use, ...fields }: JsonObject, secrets: JsonObject): ShownProvider {
  const settings = withoutSecrets(providers, String(use), fields);
  return { use: String(use), ...settings, secrets_set: Object.keys(secrets).sort() };
}

async function getHealth(db: Db, organizationId: number, id: number): Promise<Health> {
  return (await readHealth(db, organizationId, [id]))(id);
}

/** From the counts that are kept by the hour. */
async function readHealth(db: Db, organizationId: number, ids: number[]): Promise<(id: number) => Health> {
  const since = new Date(Date.now() - healthHours * 3_600_000);
  const outcomes = await rows.countChannelOutcomes(db, organizationId, ids, since);
  return id => ({ hours: healthHours, sent: 0, failed: 0, unknown: 0, ...outcomes.get(id) });
}

export interface ShownProviderKind {
  name: string;
  medium: string;
  title: string;
  summary: string;
  /** JSON schema; see `provider.ts` for its marks. */
  settings: object;
}

export function listProviders({ providers }: Deps): ShownProviderKind[] {
  return Object.values(providers).map(({ name, medium, title, summary, settings }) => ({
    name,
    medium,
    title,
    summary,
    settings,
  }));
}
