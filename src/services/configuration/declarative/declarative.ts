/**
 * Declarative configuration: compares a document with the stored configuration and shows (plan) or makes (apply) the
 * difference. Each runs in one transaction, so that a plan sees a consistent snapshot and an apply is atomic.
 */

import { toAuditEntry } from '../../../core/configuration/audit.ts';
import { checkDocument, throwIfAny } from '../../../core/configuration/check.ts';
import { checkUserGroups, groupsIn } from '../../../core/configuration/checks/user-groups.ts';
import { type Change, diff, type Step, toChange } from '../../../core/configuration/diff.ts';
import type { Document, OrganizationDocument } from '../../../core/configuration/document.ts';
import { toDocument } from '../../../core/configuration/export.ts';
import { toProviderEntry } from '../../../core/configuration/fields.ts';
import {
  checkDanglingReferences,
  checkReferences,
  type EventReference,
  type Reference,
  type UserReference,
} from '../../../core/configuration/references.ts';
import { isSameDestination, keepSecrets, pairChannels, pairSources } from '../../../core/configuration/secrets.ts';
import { addError } from '../../../core/configuration/shape.ts';
import { type OrganizationState, toState } from '../../../core/configuration/state.ts';
import { webhookLimits } from '../../../core/configuration/webhooks.ts';
import { loadPatterns } from '../../../core/context-schema/patterns.ts';
import { AppError, type FieldErrors } from '../../../core/errors.ts';
import { isObject, type JsonObject, toNfc } from '../../../core/json.ts';
import { fold } from '../../../core/text/text.ts';
import { listFollowingGroups } from '../../../db/audience/on-call/groups.ts';
import { findUsernames } from '../../../db/audience/users.ts';
import type { PathIds } from '../../../db/configuration/organizations.ts';
import {
  findOrganizationsAcrossTenants,
  listOrganizationsAcrossTenants,
  lockConfigurationAcrossTenants,
  type Organization,
  resolvePathAcrossTenants,
} from '../../../db/configuration/organizations.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { runInSlices } from '../../../lib/load/slices.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { openSecrets } from '../../../pipeline/channel-secrets.ts';
import {
  checkEntry,
  destinationsOf,
  findMissing,
  groupIdsOf,
  readEntry,
  withGenerated,
  withoutSecrets,
} from '../../../providers/provider.ts';
import type { Deps } from '../../deps.ts';
import { recordAll } from '../../operations/audit.ts';
import { openSourceSecrets, openWatch } from '../source-secrets.ts';
import { openWebhookSecrets } from '../webhook-secrets.ts';
import { readOrganization, type SecretOpeners } from './read.ts';
import { applySteps } from './write.ts';

export type { Change } from '../../../core/configuration/diff.ts';

export interface ApplyOptions {
  /** Deletes stored objects that are missing from a section of the document. */
  prune: boolean;
  /** Set when the document covers one path only: nothing else is read. */
  within?: PathIds;
}

/** Exports these organizations, or all, without secrets. */
export async function exportConfiguration(deps: Deps, slugs?: string[]): Promise<Document> {
  return deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async trx => {
      const all = await listOrganizationsAcrossTenants(trx);
      const selected = slugs?.map(slug => {
        const organization = all.find(candidate => candidate.slug === slug);
        if (!organization)
          throw new AppError('organization.not_found', `there is no organization ${slug}`, { slugs: { org: slug } });
        return organization;
      });
      const organizations: OrganizationDocument[] = [];
      for (const organization of new Set(selected ?? all)) {
        const state = await readOrganization(trx, organization, { users: true, members: true });
        const open = ({ use, settings }: { use: string; settings: JsonObject }) => ({
          use,
          settings: withoutSecrets(deps.providers, use, settings),
          secrets: {},
        });
        organizations.push(toDocument(state, open));
      }
      return { organizations };
    });
}

/** Returns the changes that `applyConfiguration` would make. */
export async function planConfiguration(deps: Deps, document: unknown, options: ApplyOptions): Promise<Change[]> {
  return withPlan(deps, document, options, async ({ steps }) => steps.map(toChange));
}

export interface Plan {
  /** What the document says. */
  organizations: readonly OrganizationState[];
  /** What applying it would do. */
  steps: readonly Step[];
}

/** Plans a document, and calls `read` in the same read-only transaction. */
export async function withPlan<T>(
  deps: Deps,
  document: unknown,
  options: ApplyOptions,
  read: (plan: Plan, trx: Db) => Promise<T>,
): Promise<T> {
  const desired = await readDocument(deps, document);
  return deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async trx => {
      const steps = await planSteps(deps, trx, desired, options);
      return read({ organizations: desired.organizations, steps }, trx);
    });
}

/** Applies a document and returns the changes made. Concurrent applies to one organization are serialized. */
export async function applyConfiguration(deps: Deps, document: unknown, options: ApplyOptions): Promise<Change[]> {
  const desired = await readDocument(deps, document);
  return changeConfiguration(
    deps,
    desired.organizations.map(organization => organization.slug),
    async trx => (await applyDesired(deps, trx, desired, options)).map(toChange),
  );
}

/** Applies a document within the caller's transaction, which must hold the configuration lock. */
export async function applyInTransaction(deps: Deps, trx: Db, document: unknown, options: ApplyOptions) {
  return applyDesired(deps, trx, await readDocument(deps, document), options);
}

/** Runs `work` in a transaction that holds the configuration lock of these organizations. */
export async function changeConfiguration<T>(deps: Deps, slugs: string[], work: (trx: Db) => Promise<T>): Promise<T> {
  // Read committed: statements must see what was committed while this transaction waited for the lock.
  const transaction = deps.db.transaction().setIsolationLevel('read committed');
  return transaction.execute(async trx => {
    await lockConfigurationAcrossTenants(trx, slugs);
    return work(trx);
  });
}

async function applyDesired(deps: Deps, trx: Db, desired: DesiredState, options: ApplyOptions): Promise<Step[]> {
  const steps = await planSteps(deps, trx, desired, options);
  await applySteps(trx, steps, { cipher: deps.cipher, by: deps.actor.name });
  await recordSteps(deps, trx, steps);
  const newUsers = steps.filter(({ noun, action }) => noun === 'user' && action === 'create');
  for (const [organizationId, own] of Map.groupBy(newUsers, step => step.organization.id!)) {
    await deps.usage.admitUsers(trx, organizationId, own.length, currentTime());
  }
  return steps;
}

/** Records each step in the audit log, without secrets. */
async function recordSteps(deps: Deps, db: Db, steps: readonly Step[]): Promise<void> {
  for (const [organizationId, own] of Map.groupBy(steps, step => step.organization.id!)) {
    await recordAll(deps, db, organizationId, own.map(toAuditEntry));
  }
}

interface DesiredState {
  organizations: OrganizationState[];
  references: Reference[];
  eventReferences: EventReference[];
  userReferences: UserReference[];
}

function hasContextSchema(part: unknown): boolean {
  if (Array.isArray(part)) return part.some(hasContextSchema);
  if (!isObject(part)) return false;
  const { organizations, projects, applications, events } = part;
  return isObject(part.context_schema) || [organizations, projects, applications, events].some(hasContextSchema);
}

/** Throws what is wrong with a document, without comparing it with the stored configuration. */
export async function checkConfiguration(deps: Deps, document: unknown): Promise<void> {
  await readDocument(deps, document);
}

async function readDocument({ providers, rendering, actor }: Deps, given: unknown): Promise<DesiredState> {
  const checkTemplate = await rendering.createChecker(actor.id ?? actor.name, textsOf(given));
  if (hasContextSchema(given)) await loadPatterns();
  // A copy, because checking normalizes the document in place and a caller may plan and then apply the same one.
  const { document, ...references } = await runInSlices(
    checkDocument(structuredClone(given), (entry, medium) => checkEntry(providers, entry, medium), checkTemplate),
  );
  const organizations = document.organizations.map(organization =>
    toState(organization, entry => readEntry(providers, entry)),
  );
  return { organizations, ...references };
}

/** Returns all strings of the document, normalized as when they are checked. The templates are among them. */
function textsOf(value: unknown, found: string[] = []): string[] {
  if (typeof value === 'string') found.push(toNfc(value));
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) textsOf(item, found);
  return found;
}

async function planSteps(deps: Deps, db: Db, desired: DesiredState, options: ApplyOptions): Promise<Step[]> {
  const slugs = desired.organizations.map(organization => organization.slug);
  const rows = slugs.length > 0 ? await findOrganizationsAcrossTenants(db, slugs) : [];
  const current = new Map<string, OrganizationState>();
  for (const organization of desired.organizations) {
    const row = rows.find(candidate => candidate.slug === organization.slug);
    if (row) current.set(row.slug, await readCurrent(deps, db, row, organization, options));
  }

  const errors: FieldErrors = {};
  checkReferences(desired.references, desired.organizations, current, errors);
  await checkEventReferences(db, desired.eventReferences, errors);
  await checkUserReferences(db, desired, current, errors);
  const steps: Step[] = [];
  for (const [i, organization] of desired.organizations.entries()) {
    const stored = current.get(organization.slug);
    const at = `organizations/${i}`;
    if (stored) checkDanglingReferences(stored, organization, options, at, errors);
    checkWebhookCount(stored, organization, options, at, errors);
    const { prune } = options;
    const groups = stored ? groupsIn(organization) : [];
    const following = groups.length > 0 ? await listFollowingGroups(db, stored!.id!, groups) : [];
    checkUserGroups(organization, stored, { at, prune, providers: groupIdsOf(deps.providers), following }, errors);
    const complete = withStoredSecrets(deps, organization, stored, at, errors);
    const newUsers = await findNewUsers(db, organization, stored);
    // Not push(...steps): 100,000 and more arguments overflow the stack.
    for (const step of diff(stored, { ...complete, newUsers }, options)) steps.push(step);
  }
  throwIfAny(errors);
  return steps;
}

async function checkEventReferences(db: Db, references: readonly EventReference[], errors: FieldErrors): Promise<void> {
  for (const { at, slugs } of references) {
    const found = await resolvePathAcrossTenants(db, slugs);
    if (!found?.event)
      addError(errors, at, `there is no event ${JSON.stringify(slugs.evt)} in the application ${slugs.app}`);
  }
}

/** Members of lists in the document are created, so that schedules may name them. */
async function checkUserReferences(
  db: Db,
  { userReferences, organizations }: DesiredState,
  current: ReadonlyMap<string, OrganizationState>,
  errors: FieldErrors,
): Promise<void> {
  for (const [slug, own] of Map.groupBy(userReferences, one => one.organization)) {
    const usernames = [...new Set(own.map(({ username }) => fold(username)))];
    const id = current.get(slug)?.id;
    const existing = new Set(id === undefined ? [] : await findUsernames(db, id, usernames));
    const members = organizations.find(one => one.slug === slug)?.memberEmails;
    for (const { at, username } of own) {
      if (existing.has(fold(username)) || members?.has(fold(username))) continue;
      addError(errors, at, `there is no user ${JSON.stringify(username)} in this organization`);
    }
  }
}

async function readCurrent(
  deps: Deps,
  db: Db,
  row: Organization,
  desired: OrganizationState,
  { within }: ApplyOptions,
): Promise<OrganizationState> {
  const managesMembers = desired.projects?.some(project => project.distribution_lists?.some(list => list.members));
  const readOptions = { users: desired.users !== undefined, members: managesMembers === true, within };
  return readOrganization(db, row, readOptions, createSecretOpeners(deps, row, desired));
}

/** Fills in the secrets that the document omits; required ones that are not stored either are reported. */
function withStoredSecrets(
  { providers }: Deps,
  desired: OrganizationState,
  current: OrganizationState | undefined,
  path: string,
  errors: FieldErrors,
): OrganizationState {
  const complete = structuredClone(desired);
  for (const { at, channel, stored } of pairChannels(complete, current, path)) {
    if (!channel.providers) {
      // The stored providers are kept and must support the channel's type in the document.
      const found = (stored?.providers ?? []).flatMap(provider =>
        checkEntry(providers, toProviderEntry(provider), channel.type),
      );
      for (const { message } of found.filter(({ field }) => field === 'use')) addError(errors, `${at}/type`, message);
      continue;
    }
    const before = stored?.providers ?? [];
    channel.providers = channel.providers.map(entry => withGenerated(providers, entry, before));
    const kept = keepSecrets(channel.providers, stored?.providers ?? [], use => destinationsOf(providers, use));
    for (const { index, field } of kept.ambiguous) {
      const several = `several ${channel.providers[index]!.use} providers changed, and it is ambiguous which of them had this secret`;
      addError(errors, `${at}/providers/${index}/${field}`, `${several}: provide it again, or null if there is none`);
    }
    for (const { index, field, changed } of kept.moved) {
      const why = `${formatList(changed)} changed, and a stored secret is not sent to another destination`;
      addError(errors, `${at}/providers/${index}/${field}`, `${why}: provide it again, or null if there is none`);
    }
    channel.providers = kept.providers;
    if (kept.ambiguous.length + kept.moved.length > 0) continue;
    for (const [i, provider] of channel.providers.entries()) {
      for (const { field, message } of findMissing(providers, provider)) {
        addError(errors, `${at}/providers/${i}/${field}`, message);
      }
    }
  }
  for (const [i, { slug, url, secret }] of (complete.webhooks ?? []).entries()) {
    const stored = current?.webhooks?.find(one => one.slug === slug);
    if (!stored || stored.url === url || secret !== undefined) continue;
    const why = 'url changed, and a stored secret is not used for another destination';
    addError(errors, `${path}/webhooks/${i}/secret`, `${why}: provide the secret again, or a new one`);
  }
  for (const { at, source, stored } of pairSources(complete, current, path)) {
    if (!stored?.update_secret || source.update_secret !== undefined || isSameDestination(source, stored)) continue;
    const why = 'update names another server, and a stored secret is not sent to another destination';
    addError(errors, `${at}/update_secret`, `${why}: provide it again, or an empty text if there is none`);
  }
  return complete;
}

function formatList(names: string[]): string {
  return new Intl.ListFormat('en').format(names);
}

/** Returns list members who are not users yet: they are created, unless the document manages users. */
async function findNewUsers(db: Db, desired: OrganizationState, current: OrganizationState | undefined) {
  const emails = desired.memberEmails;
  if (desired.users || !emails || emails.size === 0) return [];
  const existing = new Set(current?.id === undefined ? [] : await findUsernames(db, current.id, [...emails.keys()]));
  return [...emails].filter(([username]) => !existing.has(username)).map(([username, email]) => ({ username, email }));
}

function checkWebhookCount(
  current: OrganizationState | undefined,
  { webhooks = [] }: OrganizationState,
  { prune }: ApplyOptions,
  at: string,
  errors: FieldErrors,
): void {
  const named = new Set(webhooks.map(({ slug }) => slug));
  const unmentioned = prune ? [] : (current?.webhooks ?? []).filter(({ slug }) => !named.has(slug));
  const addsOne = webhooks.some(({ slug }) => !current?.webhooks?.some(one => one.slug === slug));
  if (!addsOne || named.size + unmentioned.length <= webhookLimits.endpoints) return;
  const message = `an organization can have at most ${webhookLimits.endpoints} webhooks`;
  addError(errors, `${at}/webhooks/${webhooks.length - 1}`, message);
}

/** Decrypts only what the document manages, so that an unreadable secret does not block unrelated changes. */
function createSecretOpeners(
  { cipher }: Deps,
  { id, slug: organization }: Organization,
  desired: OrganizationState,
): SecretOpeners {
  const named = [desired, ...(desired.projects ?? [])].flatMap(({ channels }) => channels ?? []);
  const managed = new Set(named.filter(channel => channel.providers).map(channel => channel.slug));
  const given = new Set(desired.webhooks?.filter(({ secret }) => secret !== undefined).map(({ slug }) => slug));
  const applications = (desired.projects ?? []).flatMap(project => project.applications ?? []);
  const sources = applications.flatMap(application => application.sources ?? []);
  const givenSources = Map.groupBy(sources, ({ slug }) => slug);
  const heartbeats = applications.flatMap(application => application.heartbeats ?? []);
  const givenHeartbeats = new Set(heartbeats.filter(({ token }) => token !== undefined).map(({ slug }) => slug));
  const watches = applications.flatMap(application => application.watches ?? []);
  const givenWatches = new Set(watches.filter(({ url }) => url !== undefined).map(({ slug }) => slug));
  return {
    source: source => {
      // Those of several applications may have the same slug.
      const given = givenSources.get(source.slug) ?? [];
      const secretsOf = ({ token, secret, update_secret }: (typeof given)[number]) => [token, secret, update_secret];
      const keepsAll = (one: (typeof given)[number]) => secretsOf(one).every(value => value === undefined);
      if (given.every(one => keepsAll(one) && isSameDestination(one, source))) return {};
      try {
        return openSourceSecrets(cipher, id, source);
      } catch (error) {
        // All are replaced.
        if (given.every(one => secretsOf(one).every(value => value !== undefined))) return {};
        throw error;
      }
    },
    heartbeat: heartbeat => {
      if (!givenHeartbeats.has(heartbeat.slug)) return {};
      return openReplaced(() => openSourceSecrets(cipher, id, heartbeat, 'heartbeat')) ?? {};
    },
    watch: watch => {
      if (!givenWatches.has(watch.slug)) return undefined;
      return openReplaced(() => openWatch(cipher, id, watch));
    },
    channel: channel => {
      if (!managed.has(channel.slug)) return [];
      return openSecrets(cipher, id, channel, `${channel.slug} of ${organization}`);
    },
    webhook: webhook => {
      if (!given.has(webhook.slug)) return undefined;
      return openReplaced(() => openWebhookSecrets(cipher, id, webhook).secret);
    },
  };
}

/** What the document gives replaces a secret that cannot be decrypted. */
function openReplaced<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof AppError && error.code === 'secret.unreadable') return undefined;
    throw error;
  }
}
