/** Reads the stored configuration in the form in which documents are compared, with one statement per table. */

import { event } from '../../../core/configuration/nouns/event.ts';
import type { StoredMessage } from '../../../core/configuration/nouns/notification.ts';
import { pickFields } from '../../../core/configuration/nouns/noun.ts';
import {
  type ApplicationState,
  type ChannelState,
  type EventState,
  isOwnEmail,
  type LayoutState,
  type ListState,
  type OrganizationState,
  type ProjectState,
  type ProviderState,
  type UserState,
  type WebhookState,
} from '../../../core/configuration/state.ts';
import type { JsonObject } from '../../../core/json.ts';
import { listAllAddresses } from '../../../db/audience/addresses.ts';
import { listAllDistributionLists } from '../../../db/audience/distribution-lists.ts';
import { listAllEmailMembers } from '../../../db/audience/members.ts';
import { listAllUsers } from '../../../db/audience/users.ts';
import { listCurrentMessages } from '../../../db/configuration/messages.ts';
import type { Organization, PathIds } from '../../../db/configuration/organizations.ts';
import { listRows } from '../../../db/configuration/rows.ts';
import type { Db } from '../../../db/connection/pool.ts';
import type { SealedChannel } from '../../../pipeline/channel-secrets.ts';
import type { SealedWebhook } from '../webhook-secrets.ts';

/** Selects the parts to read; those that can be large are optional. */
interface ReadOptions {
  users: boolean;
  members: boolean;
  /** Reads only the objects on this path and those that they can reference; undefined: everything. */
  within?: PathIds;
}

/** Functions that decrypt secrets. */
export interface SecretOpeners {
  channel: (channel: SealedChannel) => JsonObject[];
  webhook: (webhook: SealedWebhook) => string | undefined;
}

/** Leaves secrets empty. */
const withoutOpening: SecretOpeners = { channel: () => [], webhook: () => undefined };

export async function readOrganization(
  db: Db,
  { id, ...own }: Organization,
  options: ReadOptions,
  openSecrets: SecretOpeners = withoutOpening,
): Promise<OrganizationState> {
  const channels = await readChannels(db, id, options, openSecrets);
  const layouts = await readLayouts(db, id, options);
  return {
    id,
    ...own,
    channels: channels.get(null) ?? [],
    layouts: layouts.get(null) ?? [],
    categories: await listRows(db, id, 'category'),
    webhooks: await readWebhooks(db, id, openSecrets),
    users: options.users ? await readUsers(db, id) : undefined,
    projects: await readProjects(db, id, { channels, layouts }, options),
  };
}

/** The key null is the organization itself. */
type ByProject<State> = Map<number | null, State[]>;

async function readProjects(
  db: Db,
  organizationId: number,
  { channels, layouts }: { channels: ByProject<ChannelState>; layouts: ByProject<LayoutState> },
  options: ReadOptions,
): Promise<ProjectState[]> {
  const lists = await readLists(db, organizationId, options);
  const applications = await readApplications(db, organizationId, options.within);
  const projects = await listRows(db, organizationId, 'project', { within: options.within });
  return projects.map(project => ({
    ...project,
    channels: channels.get(project.id) ?? [],
    layouts: layouts.get(project.id) ?? [],
    distribution_lists: lists.get(project.id) ?? [],
    applications: applications.get(project.id) ?? [],
  }));
}

async function readChannels(db: Db, organizationId: number, { within }: ReadOptions, openSecrets: SecretOpeners) {
  const rows = await listRows(db, organizationId, 'channel', { within });
  const states = rows.map(row => {
    const opened = row.secrets ? openSecrets.channel(row) : [];
    const providers = row.providers.map(
      ({ use, ...settings }, i): ProviderState => ({ use: String(use), settings, secrets: opened[i] ?? {} }),
    );
    const { project_id, secrets: _, ...own } = row;
    const state: ChannelState = { ...own, providers };
    return { parent: project_id, state };
  });
  return byParent(states);
}

async function readLayouts(db: Db, organizationId: number, { within }: ReadOptions) {
  const rows = await listRows(db, organizationId, 'layout', { within });
  return byParent(rows.map(({ project_id, name_key: _, ...state }) => ({ parent: project_id, state })));
}

async function readWebhooks(db: Db, organizationId: number, openSecrets: SecretOpeners): Promise<WebhookState[]> {
  const rows = await listRows(db, organizationId, 'webhook');
  return rows.map(({ secrets, ...row }) => ({ ...row, secret: openSecrets.webhook({ slug: row.slug, secrets }) }));
}

async function readUsers(db: Db, organizationId: number): Promise<UserState[]> {
  const users = await listAllUsers(db, organizationId);
  const addresses = Map.groupBy(await listAllAddresses(db, organizationId), address => address.user_id);
  return users.map(user => ({
    ...user,
    locale: user.locale ?? '',
    timezone: user.timezone ?? '',
    addresses: (addresses.get(user.id) ?? [])
      .map(({ name, value }) => ({ name, value }))
      .filter(address => !isOwnEmail(user, address)),
  }));
}

async function readLists(db: Db, organizationId: number, options: ReadOptions) {
  const lists = await listAllDistributionLists(db, organizationId, options.within);
  const members = Map.groupBy(
    options.members ? await listAllEmailMembers(db, organizationId) : [],
    member => member.list_id,
  );
  const usernames = (id: number) => (members.get(id) ?? []).map(member => member.username);
  return byParent(
    lists.map(({ id, project_id, name }) => {
      const state: ListState = { id, name, members: options.members ? usernames(id) : undefined };
      return { parent: project_id, state };
    }),
  );
}

async function readApplications(db: Db, organizationId: number, within?: PathIds) {
  const events = await readEvents(db, organizationId, within);
  const rows = await listRows(db, organizationId, 'application', { within });
  return byParent(
    rows.map(({ id, project_id, slug, name }) => {
      const state: ApplicationState = { id, slug, name, events: events.get(id) ?? [] };
      return { parent: project_id, state };
    }),
  );
}

async function readEvents(db: Db, organizationId: number, within?: PathIds) {
  const notifications = await readNotifications(db, organizationId, within);
  const rows = await listRows(db, organizationId, 'event', { within });
  return byParent(
    rows.map(row => {
      const state: EventState = {
        id: row.id,
        ...pickFields(event, row),
        notifications: notifications.get(row.id) ?? [],
      };
      return { parent: row.application_id, state };
    }),
  );
}

/** Returns the notifications by event id. */
export async function readNotifications(db: Db, organizationId: number, within?: PathIds) {
  const messages = await listCurrentMessages(db, organizationId, within);
  const contents = new Map(messages.map(message => [message.notification_id, message.content]));
  const rows = await listRows(db, organizationId, 'notification', { within });
  return byParent(
    rows.map(({ event_id, ...row }) => {
      const stored = contents.get(row.id) as unknown as StoredMessage | undefined;
      const content = stored ?? { message: { body: '' }, overrides: {} };
      return { parent: event_id, state: { ...row, content } };
    }),
  );
}

function byParent<Parent, State>(rows: { parent: Parent; state: State }[]): Map<Parent, State[]> {
  const groups = new Map<Parent, State[]>();
  for (const { parent, state } of rows) {
    const group = groups.get(parent);
    if (group) group.push(state);
    else groups.set(parent, [state]);
  }
  return groups;
}
