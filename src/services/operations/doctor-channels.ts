/** Checks whether every channel can send: providers exist, their settings are complete, secrets can be decrypted. */
import { AppError } from '../../core/errors.ts';
import { mailboxesOf } from '../../core/feedback/mailbox.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import { type ChannelSettings, listChannelSettings } from '../../db/configuration/channels.ts';
import { listOrganizationsAcrossTenants } from '../../db/configuration/organizations.ts';
import { listAllProjects } from '../../db/configuration/projects.ts';
import { listFailedMailboxes } from '../../db/history/feedback-mailboxes.ts';
import { countOf } from '../../lib/count-of.ts';
import { openSecrets, type SealedChannel } from '../../pipeline/channel-secrets.ts';
import { checkEntry, findMissing } from '../../providers/provider.ts';
import type { Deps } from '../deps.ts';
import type { Check } from './health.ts';

/** More lines would bury the other checks. */
const maxShown = 20;

/** Returns one line if all channels are fine, else one line per problem. */
export async function checkChannels(deps: Pick<Deps, 'db' | 'cipher' | 'providers'>): Promise<Check[]> {
  const { db } = deps;
  const problems: string[] = [];
  let [all, enabled] = [0, 0];
  for (const { id, slug } of await listOrganizationsAcrossTenants(db)) {
    const channels = await listChannelSettings(db, id);
    const projects = channels.some(({ project_id }) => project_id !== null) ? await listAllProjects(db, id) : [];
    const unreadable = await listFailedMailboxes(db, id);
    for (const channel of channels) {
      all++;
      if (channel.enabled) enabled++;
      const project = projects.find(one => one.id === channel.project_id);
      const path = [slug, project?.slug, channel.slug].filter(Boolean).join('/');
      problems.push(...findProblems(deps, id, channel, path));
      const current = mailboxesOf(channel.providers, []).map(({ name }) => name);
      const own = unreadable.filter(one => one.channel_id === channel.id && current.includes(one.mailbox));
      for (const { mailbox, error } of own) {
        problems.push(`${path} cannot read ${mailbox}: ${error}; check its settings imap_… and apply the file`);
      }
    }
  }
  if (problems.length === 0) return [line(true, `${countOf(all, 'channel')}, ${enabled} enabled`)];
  const more = problems.length - maxShown;
  const shown = problems.slice(0, maxShown).map(problem => line(false, problem));
  return more > 0 ? [...shown, line(false, `… and ${more} more`)] : shown;
}

function line(ok: boolean, detail: string): Check {
  return { name: 'channels', ok, detail };
}

function findProblems(
  { cipher, providers }: Pick<Deps, 'cipher' | 'providers'>,
  organizationId: number,
  channel: ChannelSettings & SealedChannel,
  path: string,
): string[] {
  const entries = channel.providers;
  if (entries.length === 0) {
    return channel.enabled ? [`${path} has no provider: add one to the file, or set enabled: false, and apply it`] : [];
  }
  const problems: string[] = [];
  let secrets: JsonObject[] | undefined;
  try {
    secrets = openSecrets(cipher, organizationId, channel, path);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problems.push(error.message);
  }
  for (const [i, entry] of entries.entries()) {
    const { use, ...settings } = entry;
    const state = { use: String(use), settings, secrets: secretsOf(secrets, i) };
    const mistakes = checkEntry(providers, { ...settings, ...state.secrets, use: state.use }, channel.type);
    // Secrets that cannot be decrypted are not missing.
    if (secrets) mistakes.push(...findMissing(providers, state));
    for (const { field, message } of mistakes) {
      const prefix = field === 'use' || field === '' ? '' : `${field} `;
      problems.push(`${path}, provider ${i + 1} (${state.use}): ${prefix}${message}; fix it in the file and apply it`);
    }
  }
  return problems;
}

function secretsOf(secrets: JsonObject[] | undefined, index: number): JsonObject {
  const own = secrets?.[index];
  return isObject(own) ? own : {};
}
