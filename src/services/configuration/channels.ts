/** Channels with their providers, without secrets, and their recent outcomes. */

import type { ChannelEntry } from '../../core/configuration/document.ts';
import type { ChangesOf } from '../../core/configuration/entries.ts';
import { channel as noun, type ProviderEntry } from '../../core/configuration/nouns/channel.ts';
import { pickFields } from '../../core/configuration/nouns/noun.ts';
import { dayLimitOf, messagesOfDay, nameInChannel } from '../../core/decision/day-limit.ts';
import { AppError } from '../../core/errors.ts';
import { mailboxesOf } from '../../core/feedback/mailbox.ts';
import { percentOf, type Reputation, reputationWindow } from '../../core/feedback/reputation.ts';
import { channelStatesOf } from '../../core/history/states.ts';
import type { JsonObject } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { listSchedulesWithGroupIn } from '../../db/audience/on-call/groups.ts';
import * as rows from '../../db/configuration/channels.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Db } from '../../db/connection/pool.ts';
import { readReputations } from '../../db/history/feedback/reputation.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { openSecrets } from '../../pipeline/channel-secrets.ts';
import { type Providers, withoutSecrets } from '../../providers/provider.ts';
import type { Deps } from '../deps.ts';
import { interactionAddressesOf } from '../history/acknowledgements/interactions.ts';
import { feedbackSourcesOf, mailSource } from '../history/feedback/requests.ts';
import { createEntry, gone, type Kind, type Precondition, updateEntry } from './entries.ts';
import { showPause } from './pauses.ts';
import { findNotificationsUsingChannel, refuseIfUsed } from './references.ts';

/** The schemas of the responses describe these (http/configuration/channels.ts). */
type ChannelView = Omit<ReturnType<typeof show>, 'feedback' | 'interactions'>;
export type ChannelDetails = Awaited<ReturnType<typeof getChannel>>;

const healthHours = 24;

export async function getChannel(deps: Deps, organizationId: number, id: number) {
  const row = await find(deps.db, organizationId, id);
  const [measured] = await measure(deps.db, organizationId, [row]);
  return withStates({ ...show(deps, organizationId, row), ...measured! });
}

/** Lists the channels of the organization and of its projects. */
export async function listChannelDetails(deps: Deps, organizationId: number, page: PageRequest) {
  const details = await rows.listChannelDetails(deps.db, organizationId, page);
  const measured = await measure(deps.db, organizationId, details);
  return details.map((row, i) => ({
    id: row.id,
    ...withStates({ ...show(deps, organizationId, row), ...measured[i]! }),
  }));
}

function withStates<Channel extends Parameters<typeof channelStatesOf>[0]>(channel: Channel) {
  return { ...channel, states: channelStatesOf(channel) };
}

/** Creates a channel of the project in the slugs, or of the organization without one. */
export async function createChannel(deps: Deps, slugs: Slugs, entry: ChannelEntry): Promise<ChannelDetails> {
  const made = await createEntry(
    deps,
    { noun: 'channel', read: async (_, { organization }, id) => ({ organizationId: organization.id, id }) },
    slugs,
    withoutSecretNames(entry),
  );
  return getChannel(deps, made.organizationId, made.id);
}

/** Updates a channel. A secret that a provider entry omits is kept, unless its destination changes. */
export async function updateChannel(
  deps: Deps,
  slugs: Slugs,
  organizationId: number,
  id: number,
  changes: ChangesOf<ChannelEntry>,
  check: Precondition<ChannelView>,
): Promise<ChannelDetails> {
  await updateEntry(deps, channel, slugs, id, withoutSecretNames(changes), check);
  return getChannel(deps, organizationId, id);
}

/** It cannot be deleted while a notification or a group of a schedule uses it. */
export const channel: Kind<'channel', ChannelView> = {
  noun: 'channel',
  // What the ETag is made of.
  read: async (db, { organization }, id, deps) => {
    const row = await find(db, organization.id, id);
    const { feedback: _, interactions: __, ...view } = show(deps, organization.id, row);
    return view;
  },
  refuseIfUsed: async (trx, { organization }, { name }, id) => {
    refuseIfUsed(`channel ${name}`, await findNotificationsUsingChannel(trx, organization.id, id));
    refuseIfUsed(`channel ${name}`, await listSchedulesWithGroupIn(trx, organization.id, id), 'schedules');
  },
};

/** Removes `secrets_set`, which is in responses, so that a response can be sent back. */
function withoutSecretNames<Entry extends { providers?: ProviderEntry[] | null }>(entry: Entry): Entry {
  const plain = entry.providers?.map(({ secrets_set: _, ...provider }) => provider as ProviderEntry);
  return { ...entry, ...(plain && { providers: plain }) };
}

async function find(db: Db, organizationId: number, id: number): Promise<rows.ChannelDetails> {
  const row = await rows.findChannelDetails(db, organizationId, id);
  if (!row) throw gone('channel');
  return row;
}

function show({ cipher, providers, feedbackReaders }: Deps, organizationId: number, row: rows.ChannelDetails) {
  let secrets: JsonObject[] = [];
  let problem: string | null = null;
  try {
    secrets = openSecrets(cipher, organizationId, row);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problem = error.message;
  }
  const sources = feedbackSourcesOf(providers, row.providers, secrets);
  return {
    ...pickFields(noun, row),
    providers: row.providers.map((entry, i) => showProvider(providers, entry, secrets[i] ?? {})),
    ...showPause(row),
    project: row.project,
    problem,
    feedback:
      sources.length === 0
        ? null
        : {
            addresses: sources.map(({ service, secret }) => ({
              service,
              path: `/feedback/${row.feedback_token}/${service}/`,
              ready:
                secret !== undefined || service === mailSource || lookUp(feedbackReaders, service)?.isSigned === false,
            })),
            mailboxes: mailboxesOf(row.providers, []).map(({ name }) => showMailbox(row, name)),
            last_received_at: row.last_received_at?.toISOString() ?? null,
            last_refused_at: row.last_refused_at?.toISOString() ?? null,
            last_refusal: row.last_refusal,
          },
    interactions: interactionAddressesOf(providers, row, secrets),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function showMailbox({ mailboxes }: rows.ChannelDetails, name: string): rows.PolledMailbox {
  const { checked_at = null, failed_at = null, error = null } = mailboxes.find(one => one.mailbox === name) ?? {};
  const toIso = (time: string | null) => time && new Date(time).toISOString();
  return { mailbox: name, checked_at: toIso(checked_at), failed_at: toIso(failed_at), error };
}

function showProvider(providers: Providers, { use, ...fields }: JsonObject, secrets: JsonObject) {
  const settings = withoutSecrets(providers, String(use), fields);
  return { use: String(use), ...settings, secrets_set: Object.keys(secrets).sort() };
}

/** Reads the hourly counts of channels. */
async function measure(db: Db, organizationId: number, channels: readonly rows.ChannelDetails[]) {
  const since = new Date(currentTime() - healthHours * 3_600_000);
  const ids = channels.map(({ id }) => id);
  const outcomes = await rows.countChannelOutcomes(db, organizationId, ids, since);
  const reputations = await readReputations(db, organizationId, ids);
  const days = Map.groupBy(await rows.listProviderDays(db, organizationId, ids), one => one.channel_id);
  return channels.map(channel => {
    const health = { hours: healthHours, sent: 0, failed: 0, unknown: 0, ...outcomes.get(channel.id) };
    const counts = reputations.find(({ id }) => id === channel.id);
    const limited_until = findDayEnd(channel, days.get(channel.id) ?? []);
    return { health, reputation: counts ? describeReputation(channel, counts) : null, limited_until };
  });
}

/** Returns when the day ends on which no provider of the channel may send more; null if one may. */
function findDayEnd({ providers }: rows.ChannelDetails, days: readonly rows.ProviderDay[]): string | null {
  const uses = providers.map(({ use }) => String(use));
  const isUsedUp = (settings: JsonObject, index: number) => {
    const limit = dayLimitOf(settings);
    const today = days.find(({ provider }) => provider === nameInChannel(uses, index));
    return limit !== undefined && today !== undefined && today.used >= messagesOfDay(limit, today.day, today.first_day);
  };
  if (!days[0] || !providers.every(isUsedUp)) return null;
  return new Date(days[0].day.getTime() + 24 * 3_600_000).toISOString();
}

function describeReputation(channel: rows.ChannelDetails, counts: Reputation) {
  const { messages, bounced, complained } = counts;
  return {
    hours: reputationWindow.hours,
    messages,
    bounced,
    complained,
    bounce_percent: percentOf(bounced, counts),
    complaint_percent: percentOf(complained, counts),
    since: channel.reputation_since?.toISOString() ?? null,
    bulk_paused_at: channel.bulk_paused_at?.toISOString() ?? null,
    bulk_paused_reason: channel.bulk_paused_reason,
  };
}

export function listProviders({ providers }: Deps) {
  return Object.values(providers).map(({ name, medium, title, summary, settings }) => ({
    name,
    medium,
    title,
    summary,
    settings,
  }));
}
