/** Applies the steps of a plan in order. Consecutive users, addresses and members are written in batches. */
import {
  hasContentChanged,
  type Noun,
  organizationFields,
  type Step,
  type StepOf,
} from '../../core/configuration/diff.ts';
import { toProviderEntry } from '../../core/configuration/fields.ts';
import type { ProviderState } from '../../core/configuration/state.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { fold } from '../../core/text/text.ts';
import * as addresses from '../../db/audience/addresses.ts';
import * as lists from '../../db/audience/distribution-lists.ts';
import * as members from '../../db/audience/members.ts';
import * as users from '../../db/audience/users.ts';
import * as applications from '../../db/configuration/applications.ts';
import * as categories from '../../db/configuration/categories.ts';
import * as channels from '../../db/configuration/channels.ts';
import * as events from '../../db/configuration/events.ts';
import * as layouts from '../../db/configuration/layouts.ts';
import { addMessage } from '../../db/configuration/messages.ts';
import * as notifications from '../../db/configuration/notifications.ts';
import { createOrganizationAcrossTenants, updateOrganization } from '../../db/configuration/organizations.ts';
import * as projects from '../../db/configuration/projects.ts';
import * as webhooks from '../../db/configuration/webhooks.ts';
import type { Db } from '../../db/connection/pool.ts';
import { releaseDayLimited } from '../../db/ledger/deliver/day-limits.ts';

/** Encrypts a channel's secrets, bound to the row that will store them. */
type SealSecrets = (
  organizationId: number,
  projectId: number | null,
  slug: string,
  secrets: JsonObject[],
) => Buffer | null;

interface ApplyContext {
  seal: SealSecrets;
  /** Encrypts a webhook's secret; generates one if it is undefined. */
  sealWebhook: (organizationId: number, slug: string, secret: string | undefined) => Buffer;
  /** Name of the actor. */
  by: string;
}

export async function applySteps(db: Db, steps: readonly Step[], context: ApplyContext): Promise<void> {
  for (const group of groupConsecutive(steps)) {
    const [first] = group;
    const deleting = first!.action === 'delete';
    switch (first!.noun) {
      case 'user':
        await writeUsers(db, group as StepOf<'user'>[], deleting);
        break;
      case 'address':
        await writeAddresses(db, group as StepOf<'address'>[], deleting);
        break;
      case 'member':
        await writeMembers(db, group as StepOf<'member'>[], deleting);
        break;
      default:
        for (const step of group) await writeOne(db, step, context);
    }
  }
}

/** Groups consecutive steps that one statement can write. Creating and updating users is the same statement. */
function groupConsecutive(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1)?.[0];
    const together =
      last?.noun === step.noun &&
      last.organization === step.organization &&
      last.parent === step.parent &&
      (last.action === 'delete') === (step.action === 'delete');
    if (together) groups.at(-1)!.push(step);
    else groups.push([step]);
  }
  return groups;
}

async function writeUsers(db: Db, steps: StepOf<'user'>[], deleting: boolean): Promise<void> {
  const organizationId = steps[0]!.organization.id!;
  const usernames = steps.map(step => step.state.username);
  if (deleting) return users.deleteUsers(db, organizationId, usernames);
  const states = steps.map(step => step.state);
  await users.putUsers(db, organizationId, states);
  await addresses.addMissingEmails(db, organizationId, usernames);
}

async function writeAddresses(db: Db, steps: StepOf<'address'>[], deleting: boolean): Promise<void> {
  const write = deleting ? addresses.removeAddresses : addresses.addMissingAddresses;
  const states = steps.map(step => step.state);
  await write(db, steps[0]!.organization.id!, states);
}

async function writeMembers(db: Db, steps: StepOf<'member'>[], deleting: boolean): Promise<void> {
  const [organizationId, listId] = [steps[0]!.organization.id!, steps[0]!.parent.id!];
  const usernames = steps.map(step => step.state.username);
  if (deleting) await members.removeEmailMembers(db, organizationId, listId, usernames);
  else await members.addMissingMembers(db, organizationId, listId, usernames);
}

async function writeOne(db: Db, step: Step, { seal, sealWebhook, by }: ApplyContext): Promise<void> {
  if (step.noun === 'organization') return writeOrganization(db, step);
  const organizationId = step.organization.id!;
  const { action, row } = step;
  if (action === 'delete') return remove[step.noun as keyof typeof remove](db, organizationId, row.id!);
  switch (step.noun) {
    case 'channel':
      return writeChannel(db, step, seal);
    case 'layout': {
      const { name, body } = step.state;
      const fields = { name, name_key: fold(name), body };
      if (action === 'create') row.id = await layouts.createLayout(db, organizationId, projectOf(step), fields);
      else await layouts.updateLayout(db, organizationId, row.id!, fields);
      if (step.before?.body !== body) await layouts.addLayoutVersion(db, organizationId, row.id!, body, by);
      return;
    }
    case 'category': {
      const { id: _, ...fields } = step.state;
      if (action === 'create') row.id = await categories.createCategory(db, organizationId, fields);
      else await categories.updateCategory(db, organizationId, row.id!, fields);
      return;
    }
    case 'webhook': {
      const { id: _, slug, secret, ...fields } = step.state;
      const secrets = () => sealWebhook(organizationId, slug, secret);
      if (action === 'create') {
        row.id = await webhooks.createWebhook(db, organizationId, { slug, ...fields, secrets: secrets() });
      } else
        await webhooks.updateWebhook(db, organizationId, row.id!, {
          ...fields,
          ...(secret && { secrets: secrets() }),
        });
      return;
    }
    case 'project': {
      const { slug, name } = step.state;
      if (action === 'create') row.id = await projects.createProject(db, organizationId, { slug, name });
      else await projects.updateProject(db, organizationId, row.id!, { name });
      return;
    }
    case 'list': {
      const { name } = step.state;
      row.id = await lists.putDistributionList(db, organizationId, step.parent.id!, { name, name_key: fold(name) });
      return;
    }
    case 'application': {
      const { slug, name } = step.state;
      const { parent } = step;
      if (action === 'create') {
        row.id = await applications.createApplication(db, organizationId, parent.id!, { slug, name });
      } else await applications.updateApplication(db, organizationId, row.id!, { name });
      return;
    }
    case 'event': {
      const { slug, name, active, category, context_schema } = step.state;
      const { parent } = step;
      const fields = { name, active, category, context_schema };
      if (action === 'create') {
        row.id = await events.createEvent(db, organizationId, parent.id!, { slug, ...fields });
      } else await events.updateEvent(db, organizationId, row.id!, fields);
      return;
    }
    case 'notification':
      return writeNotification(db, step, by);
  }
}

type SingleRowNoun = Exclude<Noun, 'organization' | 'user' | 'address' | 'member'>;

/** Foreign keys delete the rows below. */
const remove: Record<SingleRowNoun, (db: Db, organizationId: number, id: number) => Promise<void>> = {
  channel: channels.deleteChannel,
  layout: layouts.deleteLayout,
  category: categories.deleteCategory,
  webhook: webhooks.deleteWebhook,
  project: projects.deleteProject,
  list: lists.deleteDistributionList,
  application: applications.deleteApplication,
  event: events.deleteEvent,
  notification: notifications.deleteNotification,
};

async function writeOrganization(db: Db, { action, row, state }: StepOf<'organization'>): Promise<void> {
  const fields = organizationFields(state);
  if (action === 'create') row.id = await createOrganizationAcrossTenants(db, { slug: state.slug, ...fields });
  else await updateOrganization(db, row.id!, fields);
}

/** Returns null if the object belongs to the organization. */
function projectOf({ organization, parent }: StepOf<'channel'> | StepOf<'layout'>): number | null {
  return parent === organization ? null : parent.id!;
}

async function writeChannel(db: Db, step: StepOf<'channel'>, seal: SealSecrets): Promise<void> {
  const { organization, row, state } = step;
  const organizationId = organization.id!;
  const projectId = projectOf(step);
  const providerColumns = (providers: ProviderState[]) => ({
    providers: providers.map(toProviderEntry),
    secrets: seal(
      organizationId,
      projectId,
      state.slug,
      providers.map(({ secrets }) => secrets),
    ),
  });
  const { id: _, slug, providers, ...own } = state;
  if (step.action === 'create') {
    const fields = { slug, ...own, ...providerColumns(providers ?? []) };
    row.id = await channels.createChannel(db, organizationId, projectId, fields);
  } else {
    await channels.updateChannel(db, organizationId, row.id!, {
      ...own,
      ...(providers && providerColumns(providers)),
    });
    const changesDayLimit = step.fields.some(({ field }) => /^providers\.\d+\.(per_day|warm_up_)/.test(field));
    if (changesDayLimit) await releaseDayLimited(db, organizationId, row.id!);
  }
}

async function writeNotification(db: Db, step: StepOf<'notification'>, by: string): Promise<void> {
  const { organization, parent, row, state, before } = step;
  const organizationId = organization.id!;
  const { id: _, content, ...fields } = state;
  if (step.action === 'create') {
    row.id = await notifications.createNotification(db, organizationId, parent.id!, fields);
  } else await notifications.updateNotification(db, organizationId, row.id!, fields);
  if (hasContentChanged(before, state)) await addMessage(db, organizationId, row.id!, content as unknown as Json, by);
}
