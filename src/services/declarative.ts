/**
 * Declarative configuration: what a document says is compared with what is, and the difference is shown or made. One
 * transaction each, so that a plan sees one moment and an apply happens wholly or not at all.
 */

import { toAuditEntry } from '../core/configuration/audit.ts';
import { checkDocument, throwIfAny } from '../core/configuration/check.ts';
import { type Change, diff, type Step, toChange } from '../core/configuration/diff.ts';
import type { Document, OrganizationDocument } from '../core/configuration/document.ts';
import { toDocument } from '../core/configuration/export.ts';
import { toEntry } from '../core/configuration/fields.ts';
import { checkLeftovers, checkReferences, type Reference } from '../core/configuration/references.ts';
import { keepSecrets, pairChannels } from '../core/configuration/secrets.ts';
import { addError } from '../core/configuration/shape.ts';
import { type OrganizationState, toState } from '../core/configuration/state.ts';
import { loadPatterns } from '../core/context-patterns.ts';
import { AppError, type FieldErrors } from '../core/errors.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import { generateWebhookSecret, webhookLimits } from '../core/webhooks.ts';
import type { Within } from '../db/organizations.ts';
import {
  findOrganizationsAcrossTenants,
  listOrganizationsAcrossTenants,
  lockConfigurationAcrossTenants,
  type Organization,
} from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';
import { findUsernames } from '../db/users.ts';
import {
  checkEntry,
  destinationsOf,
  findMissing,
  readEntry,
  withGenerated,
  withoutSecrets,
} from '../providers/provider.ts';
import { recordAll } from './audit.ts';
import { openSecrets, sealSecrets } from './channel-secrets.ts';
import { type OpenSecrets, readOrganization } from './declarative-read.ts';
import { applySteps } from './declarative-write.ts';
import type { Deps } from './deps.ts';
import { openWebhookSecrets, sealWebhookSecrets } from './webhook-secrets.ts';

export type { Change } from '../core/configuration/diff.ts';

export interface ApplyOptions {
  /** Deletes what is not in a section that is there. */
  prune: boolean;
  /** Where the document is about one path only: what is beside it is not read. */
  within?: Within;
}

/** Of these organizations, or of all; without secrets. */
export async function exportConfiguration(deps: Deps, slugs?: string[]): Promise<Document> {
  return deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async trx => {
      const known = await listOrganizationsAcrossTenants(trx);
      const chosen = slugs?.map(slug => {
        const organization = known.find(candidate => candidate.slug === slug);
        if (!organization) throw new AppError('organization.not_found', `there is no organization ${slug}`);
        return organization;
      });
      const organizations: OrganizationDocument[] = [];
      for (const organization of new Set(chosen ?? known)) {
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

/** What `applyConfiguration` would do now. */
export async function planConfiguration(deps: Deps, document: unknown, options: ApplyOptions): Promise<Change[]> {
  const desired = await readDocument(deps, document);
  return deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async trx => (await planSteps(deps, trx, desired, options)).map(toChange));
}

/** Returns what was done. Two of these for one organization wait for each other. */
export async function applyConfiguration(deps: Deps, document: unknown, options: ApplyOptions): Promise<Change[]> {
  const desired = await readDocument(deps, document);
  return changeConfiguration(
    deps,
    desired.organizations.map(organization => organization.slug),
    async trx => (await applyDesired(deps, trx, desired, options)).map(toChange),
  );
}

/** As one part of a change, whose lock and transaction the caller has. */
export async function applyIn(deps: Deps, trx: Db, document: unknown, options: ApplyOptions): Promise<Step[]> {
  return applyDesired(deps, trx, await readDocument(deps, document), options);
}

/** Whatever changes these organizations' configuration: one after the other, each wholly or not at all. */
export async function changeConfiguration<T>(deps: Deps, slugs: string[], work: (trx: Db) => Promise<T>): Promise<T> {
  // Each statement sees what was committed before it, not what was there when this one began to wait for the lock.
  const transaction = deps.db.transaction().setIsolationLevel('read committed');
  return transaction.execute(async trx => {
    await lockConfigurationAcrossTenants(trx, slugs);
    return work(trx);
  });
}

async function applyDesired(deps: Deps, trx: Db, desired: Desired, options: ApplyOptions): Promise<Step[]> {
  const steps = await planSteps(deps, trx, desired, options);
  await applySteps(trx, steps, {
    seal: (...channel) => sealSecrets(deps.cipher, ...channel),
    sealWebhook: (id, slug, secret = generateWebhookSecret()) => sealWebhookSecrets(deps.cipher, id, slug, { secret }),
    by: deps.actor.name,
  });
  await recordSteps(deps, trx, steps);
  const newcomers = steps.filter(({ noun, action }) => noun === 'user' && action === 'create');
  for (const [organizationId, own] of Map.groupBy(newcomers, step => step.organization.id!)) {
    await deps.usage.admitUsers(trx, organizationId, own.length, Date.now());
  }
  return steps;
}

/** In the audit log as it stands in the plan: what is secret is in neither. */
async function recordSteps(deps: Deps, db: Db, steps: readonly Step[]): Promise<void> {
  for (const [organizationId, own] of Map.groupBy(steps, step => step.organization.id!)) {
    await recordAll(deps, db, organizationId, own.map(toAuditEntry));
  }
}

interface Desired {
  organizations: OrganizationState[];
  references: Reference[];
}

function hasContextSchema(part: unknown): boolean {
  if (Array.isArray(part)) return part.some(hasContextSchema);
  if (!isObject(part)) return false;
  const { organizations, projects, applications, events } = part;
  return isObject(part.context_schema) || [organizations, projects, applications, events].some(hasContextSchema);
}

async function readDocument({ providers, rendering, actor }: Deps, given: unknown): Promise<Desired> {
  const checkTemplate = await rendering.checkerOf(actor.id ?? actor.name, textsOf(given));
  if (hasContextSchema(given)) await loadPatterns();
  // A copy: checking puts the text of a document in order, and a plan reads again what an apply then reads.
  const { document, references } = checkDocument(
    structuredClone(given),
    (entry, medium) => checkEntry(providers, entry, medium),
    checkTemplate,
  );
  const organizations = document.organizations.map(organization =>
    toState(organization, entry => readEntry(providers, entry)),
  );
  return { organizations, references };
}

/** Wherever they stand: those that are templates are among them, in the form in which they are checked. */
function textsOf(value: unknown, found: string[] = []): string[] {
  if (typeof value === 'string') found.push(value.normalize('NFC'));
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) textsOf(item, found);
  return found;
}

async function planSteps(deps: Deps, db: Db, desired: Desired, options: ApplyOptions): Promise<Step[]> {
  const slugs = desired.organizations.map(organization => organization.slug);
  const rows = slugs.length > 0 ? await findOrganizationsAcrossTenants(db, slugs) : [];
  const current = new Map<string, OrganizationState>();
  for (const organization of desired.organizations) {
    const row = rows.find(candidate => candidate.slug === organization.slug);
    if (row) current.set(row.slug, await readCurrent(deps, db, row, organization, options));
  }

  const errors: FieldErrors = {};
  checkReferences(desired.references, desired.organizations, current, errors);
  const steps: Step[] = [];
  for (const [i, organization] of desired.organizations.entries()) {
    const stored = current.get(organization.slug);
    const at = `organizations/${i}`;
    if (stored) checkLeftovers(stored, organization, options, at, errors);
    checkWebhookCount(stored, organization, options, at, errors);
    const complete = withStoredSecrets(deps, organization, stored, at, errors);
    const newcomers = await findNewcomers(db, organization, stored);
    // One by one, here and elsewhere: as arguments of one call, a hundred thousand and more do not fit on the stack.
    for (const step of diff(stored, { ...complete, newcomers }, options)) steps.push(step);
  }
  throwIfAny(errors);
  return steps;
}

async function readCurrent(
  deps: Deps,
  db: Db,
  row: Organization,
  desired: OrganizationState,
  { within }: ApplyOptions,
): Promise<OrganizationState> {
  const managesMembers = desired.projects?.some(project => project.lists?.some(list => list.members));
  const wanted = { users: desired.users !== undefined, members: managesMembers === true, within };
  return readOrganization(db, row, wanted, openWith(deps, row, desired));
}

/** Fills in the secrets that the document leaves out; what is stored nowhere either is a mistake. */
function withStoredSecrets(
  { providers }: Deps,
  desired: OrganizationState,
  current: OrganizationState | undefined,
  place: string,
  errors: FieldErrors,
): OrganizationState {
  const complete = structuredClone(desired);
  for (const { at, channel, stored } of pairChannels(complete, current, place)) {
    if (!channel.providers) {
      // The stored ones stay, and have to suit the type that the document gives the channel.
      const found = (stored?.providers ?? []).flatMap(provider =>
        checkEntry(providers, toEntry(provider), channel.type),
      );
      for (const { message } of found.filter(({ field }) => field === 'use')) addError(errors, `${at}/type`, message);
      continue;
    }
    const before = stored?.providers ?? [];
    channel.providers = channel.providers.map(entry => withGenerated(providers, entry, before));
    const kept = keepSecrets(channel.providers, stored?.providers ?? [], use => destinationsOf(providers, use));
    for (const { index, field } of kept.unclear) {
      const several = `it cannot be told which ${channel.providers[index]!.use} this was, as the settings of several changed`;
      addError(errors, `${at}/providers/${index}/${field}`, `${several}: give it again, or null if there is none`);
    }
    for (const { index, field, changed } of kept.moved) {
      const why = `${listed(changed)} changed, and a stored secret is not handed to another destination`;
      addError(errors, `${at}/providers/${index}/${field}`, `${why}: give it again, or null if there is none`);
    }
    channel.providers = kept.providers;
    if (kept.unclear.length + kept.moved.length > 0) continue;
    for (const [i, provider] of channel.providers.entries()) {
      for (const { field, message } of findMissing(providers, provider)) {
        addError(errors, `${at}/providers/${i}/${field}`, message);
      }
    }
  }
  return complete;
}

function listed(names: string[]): string {
  return new Intl.ListFormat('en').format(names);
}

/** As when recipients are added to a list: whoever is unknown becomes a user, unless the document lists users itself. */
async function findNewcomers(db: Db, desired: OrganizationState, current: OrganizationState | undefined) {
  const emails = desired.memberEmails;
  if (desired.users || !emails || emails.size === 0) return [];
  const known = new Set(current?.id === undefined ? [] : await findUsernames(db, current.id, [...emails.keys()]));
  return [...emails].filter(([username]) => !known.has(username)).map(([username, email]) => ({ username, email }));
}

function checkWebhookCount(
  current: OrganizationState | undefined,
  { webhooks = [] }: OrganizationState,
  { prune }: ApplyOptions,
  at: string,
  errors: FieldErrors,
): void {
  const named = new Set(webhooks.map(({ slug }) => slug));
  const stay = prune ? [] : (current?.webhooks ?? []).filter(({ slug }) => !named.has(slug));
  const isMore = webhooks.some(({ slug }) => !current?.webhooks?.some(one => one.slug === slug));
  if (!isMore || named.size + stay.length <= webhookLimits.endpoints) return;
  const most = `an organization can have ${webhookLimits.endpoints} webhooks at the most`;
  addError(errors, `${at}/webhooks/${webhooks.length - 1}`, most);
}

/** Only what the document is about is opened: a secret that cannot be read stands in nobody else's way. */
function openWith({ cipher }: Deps, { id, slug: organization }: Organization, desired: OrganizationState): OpenSecrets {
  const named = [desired, ...(desired.projects ?? [])].flatMap(({ channels }) => channels ?? []);
  const concerned = new Set(named.filter(channel => channel.providers).map(channel => channel.slug));
  const given = new Set(desired.webhooks?.filter(({ secret }) => secret !== undefined).map(({ slug }) => slug));
  return {
    channel: channel => {
      if (!concerned.has(channel.slug)) return [];
      return openSecrets(cipher, id, channel, `${channel.slug} of ${organization}`);
    },
    webhook: webhook => (given.has(webhook.slug) ? openWebhookSecrets(cipher, id, webhook).secret : undefined),
  };
}
