/**
 * Checks whether every channel can send: providers exist, their settings are complete, secrets can be decrypted, and services
 * that can be asked accept the credentials.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../core/errors.ts';
import { mailboxesOf } from '../../../core/feedback/mailbox.ts';
import { isObject, type JsonObject } from '../../../core/json.ts';
import { lookUp } from '../../../core/lookup.ts';
import { listOrganizationsAcrossTenants } from '../../../db/configuration/organizations.ts';
import { listRows, type RowOf } from '../../../db/configuration/rows.ts';
import { listFailedMailboxes } from '../../../db/history/feedback/mailboxes.ts';
import { listPaused } from '../../../db/history/pauses.ts';
import { countOf } from '../../../lib/count-of.ts';
import { DnsSession } from '../../../lib/network/dns.ts';
import { openSecrets } from '../../../pipeline/channel-secrets.ts';
import { checkEntry, explainDenied, findMissing, type Provider } from '../../../providers/provider.ts';
import type { Deps } from '../../deps.ts';
import type { Check } from '../health.ts';

/** More lines would bury the other checks. */
const maxShown = 20;

/** How many services are asked about credentials, how many of them at the same time, and how long each may take. */
const maxAsked = 100;
const askedAtOnce = 10;
const answerWithinMs = 10_000;

/** How many names of mail senders are looked up, and how long all of that may take. */
const maxNames = 10;
const nameLimits = { lookupMs: 1_500, totalMs: 3_000, lookups: 2 * maxNames };

type ChannelDeps = Pick<Deps, 'db' | 'cipher' | 'providers' | 'outbound' | 'hostName'> & {
  domainCheckLimits: Pick<Deps['domainCheckLimits'], 'servers'>;
};

/** Valid settings of a provider in an enabled channel. */
interface Usable {
  where: string;
  provider: Provider;
  settings: JsonObject;
}

/** Returns one line if all channels are fine, else one line per problem. */
export async function checkChannels(deps: ChannelDeps): Promise<Check[]> {
  const { db } = deps;
  const problems: string[] = [];
  const usable: Usable[] = [];
  let [all, enabled, paused] = [0, 0, 0];
  for (const { id, slug } of await listOrganizationsAcrossTenants(db)) {
    const channels = await listRows(db, id, 'channel');
    const projects = channels.some(({ project_id }) => project_id !== null) ? await listRows(db, id, 'project') : [];
    const unreadable = await listFailedMailboxes(db, id);
    paused += (await listPaused(db, id)).filter(({ kind }) => kind === 'channel').length;
    for (const channel of channels) {
      all++;
      if (channel.enabled) enabled++;
      const project = projects.find(one => one.id === channel.project_id);
      const path = [slug, project?.slug, channel.slug].filter(Boolean).join('/');
      const found = findProblems(deps, id, channel, path);
      problems.push(...found.problems);
      if (channel.enabled) usable.push(...found.usable);
      const current = mailboxesOf(channel.providers, []).map(({ name }) => name);
      const own = unreadable.filter(one => one.channel_id === channel.id && current.includes(one.mailbox));
      for (const { mailbox, error } of own) {
        problems.push(`${path} cannot read ${mailbox}: ${error}; check its settings imap_… and apply the file`);
      }
    }
  }
  problems.push(...(await findRejectedCredentials(deps, usable)));
  const names = await checkMailNames(deps, usable);
  if (problems.length === 0) {
    const counts = `${countOf(all, 'channel')}, ${enabled} enabled${paused > 0 ? `, ${paused} paused` : ''}`;
    return [line(true, counts), ...names];
  }
  const more = problems.length - maxShown;
  const shown = problems.slice(0, maxShown).map(problem => line(false, problem));
  return [...shown, ...(more > 0 ? [line(false, `… and ${more} more`)] : []), ...names];
}

/** Mail servers may distrust a name that does not resolve. It is a warning, because the server may still accept mail. */
async function checkMailNames({ hostName, domainCheckLimits }: ChannelDeps, usable: Usable[]): Promise<Check[]> {
  const users = new Map<string, string>();
  for (const { where, provider, settings } of usable) {
    const name = provider.introducesAs?.(settings as never, { hostName });
    if (name !== undefined && !users.has(name)) users.set(name, where);
  }
  if (users.size === 0) return [];
  const dns = new DnsSession(domainCheckLimits.servers, nameLimits);
  try {
    const found = await Promise.all(
      [...users].slice(0, maxNames).map(async ([name, where]) => {
        const answers = await Promise.all([dns.lookUp('A', name), dns.lookUp('AAAA', name)]);
        if (answers.some(({ status }) => status === 'found')) return [];
        const failed = answers.find(answer => answer.status === 'failed');
        if (failed) return [`${name} could not be looked up: ${failed.reason}`];
        const advice = 'mail servers may refuse it; set BASE_URL or ehlo_name to a name with an address';
        return [`warning: ${where} introduces itself as ${name}, which does not resolve: ${advice}`];
      }),
    );
    const details = found.flat();
    return (details.length > 0 ? details : [`${[...users.keys()].slice(0, maxNames).join(', ')} resolves`]).map(
      detail => ({
        name: 'mail names',
        ok: true,
        detail,
      }),
    );
  } finally {
    dns.close();
  }
}

function line(ok: boolean, detail: string): Check {
  return { name: 'channels', ok, detail };
}

/** Asks services whether they accept the credentials. One that does not answer proves nothing about them. */
async function findRejectedCredentials({ outbound, hostName }: ChannelDeps, usable: Usable[]): Promise<string[]> {
  const asked = usable.filter(({ provider }) => provider.check).slice(0, maxAsked);
  const problems: string[] = [];
  for (let i = 0; i < asked.length; i += askedAtOnce) {
    const outcomes = asked.slice(i, i + askedAtOnce).map(async ({ where, provider, settings }) => {
      const late = sleep(answerWithinMs, undefined, { ref: false });
      const outcome = await Promise.race([provider.check!(settings as never, { outbound, hostName }), late]);
      if (!outcome || outcome.ok || !outcome.denied) return [];
      return [`${where}: ${explainDenied(provider, settings, outcome.reason)}`];
    });
    problems.push(...(await Promise.all(outcomes)).flat());
  }
  return problems;
}

function findProblems(
  { cipher, providers }: ChannelDeps,
  organizationId: number,
  channel: RowOf<'channel'>,
  path: string,
): { problems: string[]; usable: Usable[] } {
  const entries = channel.providers;
  if (entries.length === 0) {
    const missing = `${path} has no provider: add one to the file, or set enabled: false, and apply it`;
    return { problems: channel.enabled ? [missing] : [], usable: [] };
  }
  const problems: string[] = [];
  const usable: Usable[] = [];
  let secrets: JsonObject[] | undefined;
  try {
    secrets = openSecrets(cipher, organizationId, channel, path);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problems.push(error.message);
  }
  for (const [i, entry] of entries.entries()) {
    const { use, ...settings } = entry;
    const where = `${path}, provider ${i + 1} (${String(use)})`;
    const state = { use: String(use), settings, secrets: secretsOf(secrets, i) };
    const mistakes = checkEntry(providers, { ...settings, ...state.secrets, use: state.use }, channel.type);
    // Secrets that cannot be decrypted are not missing.
    if (secrets) mistakes.push(...findMissing(providers, state));
    for (const { field, message } of mistakes) {
      const prefix = field === 'use' || field === '' ? '' : `${field} `;
      problems.push(`${where}: ${prefix}${message}; fix it in the file and apply it`);
    }
    const provider = mistakes.length === 0 && secrets ? lookUp(providers, state.use) : undefined;
    if (provider) usable.push({ where, provider, settings: { ...settings, ...state.secrets } });
  }
  return { problems, usable };
}

function secretsOf(secrets: JsonObject[] | undefined, index: number): JsonObject {
  const own = secrets?.[index];
  return isObject(own) ? own : {};
}
