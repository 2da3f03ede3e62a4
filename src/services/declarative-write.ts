/** Carries out the steps of a plan, in their order. Neighbours of one kind go together where a file may hold many. */
import { type Noun, organizationFields, type Step, type StepOf, saysOtherwise } from '../core/configuration/diff.ts';
import { toEntry } from '../core/configuration/fields.ts';
import type { NotificationState, ProviderState } from '../core/configuration/state.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { fold } from '../core/text.ts';
import * as addresses from '../db/addresses.ts';
import * as applications from '../db/applications.ts';
import * as categories from '../db/categories.ts';
import * as channels from '../db/channels.ts';
import * as lists from '../db/distribution-lists.ts';
import * as events from '../db/events.ts';
import * as layouts from '../db/layouts.ts';
import * as members from '../db/members.ts';
import { addMessage } from '../db/messages.ts';
import * as notifications from '../db/notifications.ts';
import { createOrganizationAcrossTenants, updateOrganization } from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';
import * as projects from '../db/projects.ts';
import * as users from '../db/users.ts';
import * as webhooks from '../db/webhooks.ts';

/** Encrypts a channel's secrets for the place where they will be kept. */
export type SealSecrets = (
  organizationId: number,
  projectId: number | null,
  slug: string,
  secrets: JsonObject[],
) => Buffer | null;

export interface ApplyContext {
  seal: SealSecrets;
  /** Encrypts a webhook's secret; one that was not given is made. */
  sealWebhook: (organizationId: number, slug: string, secret: string | undefined) => Buffer;
  /** The name of whoever does it. */
  by: string;
}

export async function applySteps(db: Db, steps: readonly Step[], carrying: ApplyContext): Promise<void> {
  for (const group of groupNeighbours(steps)) {
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
        for (const step of group) await writeOne(db, step, carrying);
    }
  }
}

/** Users are created and changed by the same statement; nothing else mixes. */
function groupNeighbours(steps: readonly Step[]): Step[][] {
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
  const { action, place } = step;
  if (action === 'delete') return remove[step.noun as keyof typeof remove](db, organizationId, place.id!);
  switch (step.noun) {
    case 'channel':
      return writeChannel(db, step, seal);
    case 'layout': {
      const { name, body } = step.state;
      const fields = { name, name_key: fold(name), body };
      if (action === 'create') place.id = await layouts.createLayout(db, organizationId, projectOf(step), fields);
      else await layouts.updateLayout(db, organizationId, place.id!, fields);
      if (step.before?.body !== body) await layouts.addLayoutVersion(db, organizationId, place.id!, body, by);
      return;
    }
    case 'category': {
      const { id: _, ...fields } = step.state;
      if (action === 'create') place.id = await categories.createCategory(db, organizationId, fields);
      else await categories.updateCategory(db, organizationId, place.id!, fields);
      return;
    }
    case 'webhook': {
      const { id: _, slug, secret, ...fields } = step.state;
      const secrets = () => sealWebhook(organizationId, slug, secret);
      if (action === 'create') {
        place.id = await webhooks.createWebhook(db, organizationId, { slug, ...fields, secrets: secrets() });
      } else
        await webhooks.updateWebhook(db, organizationId, place.id!, {
          ...fields,
          ...(secret && { secrets: secrets() }),
        });
      return;
    }
    case 'project': {
      const { slug, name } = step.state;
      if (action === 'create') place.id = await projects.createProject(db, organizationId, { slug, name });
      else await projects.updateProject(db, organizationId, place.id!, { name });
      return;
    }
    case 'list': {
      const { name } = step.state;
      place.id = await lists.putDistributionList(db, organizationId, step.parent.id!, { name, name_key: fold(name) });
      return;
    }
    case 'application': {
      const { slug, name } = step.state;
      const { parent } = step;
      if (action === 'create') {
        place.id = await applications.createApplication(db, organizationId, parent.id!, { slug, name });
      } else await applications.updateApplication(db, organizationId, place.id!, { name });
      return;
    }
    case 'event': {
      const { slug, name, active, category, context_schema } = step.state;
      const { parent } = step;
      const fields = { name, active, category, context_schema };
      if (action === 'create') {
        place.id = await events.createEvent(db, organizationId, parent.id!, { slug, ...fields });
      } else await events.updateEvent(db, organizationId, place.id!, fields);
      return;
    }
    case 'notification':
      return writeNotification(db, step, by);
  }
}

type DeletedOneByOne = Exclude<Noun, 'organization' | 'user' | 'address' | 'member'>;

/** What is below goes along, by the foreign keys. */
const remove: Record<DeletedOneByOne, (db: Db, organizationId: number, id: number) => Promise<void>> = {
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

async function writeOrganization(db: Db, { action, place, state }: StepOf<'organization'>): Promise<void> {
  const fields = organizationFields(state);
  if (action === 'create') place.id = await createOrganizationAcrossTenants(db, { slug: state.slug, ...fields });
  else await updateOrganization(db, place.id!, fields);
}

/** Null where it is the organization's own. */
function projectOf({ organization, parent }: StepOf<'channel'> | StepOf<'layout'>): number | null {
  return parent === organization ? null : parent.id!;
}

async function writeChannel(db: Db, step: StepOf<'channel'>, seal: SealSecrets): Promise<void> {
  const { organization, place, state } = step;
  const organizationId = organization.id!;
  const projectId = projectOf(step);
  const behind = (providers: ProviderState[]) => ({
    providers: providers.map(toEntry),
    secrets: seal(
      organizationId,
      projectId,
      state.slug,
      providers.map(({ secrets }) => secrets),
    ),
  });
  const { id: _, slug, providers, ...own } = state;
  if (step.action === 'create') {
    const fields = { slug, ...own, ...behind(providers ?? []) };
    place.id = await channels.createChannel(db, organizationId, projectId, fields);
  } else {
    await channels.updateChannel(db, organizationId, place.id!, { ...own, ...(providers && behind(providers)) });
  }
}

async function writeNotification(db: Db, step: StepOf<'notification'>, by: string): Promise<void> {
  const { organization, parent, place, state, before } = step;
  const organizationId = organization.id!;
  const { id: _, content, ...fields }: NotificationState = state;
  const row = { ...fields, recipients: fields.recipients as Json };
  if (step.action === 'create') {
    place.id = await notifications.createNotification(db, organizationId, parent.id!, row);
  } else await notifications.updateNotification(db, organizationId, place.id!, row);
  if (saysOtherwise(before, state)) await addMessage(db, organizationId, place.id!, content as unknown as Json, by);
}
