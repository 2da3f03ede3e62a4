/** What is, in the form that a document is compared in. One statement for each table, whatever the organization's size. */
import {
  type ApplicationState,
  type ChannelState,
  type EventState,
  isOwnEmail,
  type LayoutState,
  type ListState,
  type NotificationState,
  type OrganizationState,
  type ProjectState,
  type ProviderState,
  type StoredMessage,
  type UserState,
  type WebhookState,
} from '../core/configuration/state.ts';
import type { JsonObject } from '../core/json.ts';
import { listAllAddresses } from '../db/addresses.ts';
import { listAllApplications } from '../db/applications.ts';
import { listAllCategories } from '../db/categories.ts';
import { listChannelSettings } from '../db/channels.ts';
import { listAllDistributionLists } from '../db/distribution-lists.ts';
import { listAllEvents } from '../db/events.ts';
import { listAllLayouts } from '../db/layouts.ts';
import { listAllEmailMembers } from '../db/members.ts';
import { listCurrentMessages } from '../db/messages.ts';
import { listAllNotifications } from '../db/notifications.ts';
import type { Organization, Within } from '../db/organizations.ts';
import type { Db } from '../db/pool.ts';
import { listAllProjects } from '../db/projects.ts';
import { listAllUsers } from '../db/users.ts';
import { listWebhookSettings } from '../db/webhooks.ts';
import type { SealedChannel } from './channel-secrets.ts';
import type { SealedWebhook } from './webhook-secrets.ts';

/** The parts that can be large, read only where they matter. */
export interface Wanted {
  users: boolean;
  members: boolean;
  /** Only what stands on this path, and what it can refer to; undefined: everything. */
  within?: Within;
}

/** Open what is sealed; without them secrets are left empty. */
export interface OpenSecrets {
  channel: (channel: SealedChannel) => JsonObject[];
  webhook: (webhook: SealedWebhook) => string | undefined;
}

const closed: OpenSecrets = { channel: () => [], webhook: () => undefined };

export async function readOrganization(
  db: Db,
  { id, ...own }: Organization,
  wanted: Wanted,
  openSecrets: OpenSecrets = closed,
): Promise<OrganizationState> {
  const channels = await readChannels(db, id, wanted, openSecrets);
  const layouts = await readLayouts(db, id, wanted);
  return {
    id,
    ...own,
    channels: channels.get(null) ?? [],
    layouts: layouts.get(null) ?? [],
    categories: await listAllCategories(db, id),
    webhooks: await readWebhooks(db, id, openSecrets),
    users: wanted.users ? await readUsers(db, id) : undefined,
    projects: await readProjects(db, id, { channels, layouts }, wanted),
  };
}

/** Null: those of the organization itself. */
type ByProject<State> = Map<number | null, State[]>;

async function readProjects(
  db: Db,
  organizationId: number,
  { channels, layouts }: { channels: ByProject<ChannelState>; layouts: ByProject<LayoutState> },
  wanted: Wanted,
): Promise<ProjectState[]> {
  const lists = await readLists(db, organizationId, wanted);
  const applications = await readApplications(db, organizationId, wanted.within);
  const projects = await listAllProjects(db, organizationId, wanted.within);
  return projects.map(({ id, slug, name }) => ({
    id,
    slug,
    name,
    channels: channels.get(id) ?? [],
    layouts: layouts.get(id) ?? [],
    lists: lists.get(id) ?? [],
    applications: applications.get(id) ?? [],
  }));
}

async function readChannels(db: Db, organizationId: number, { within }: Wanted, openSecrets: OpenSecrets) {
  const rows = await listChannelSettings(db, organizationId, within);
  const states = rows.map(row => {
    const secrets = row.secrets ? openSecrets.channel(row) : [];
    const { id, slug, name, type, enabled, on_unknown, rate_per_second, concurrency } = row;
    const providers = row.providers.map(
      ({ use, ...settings }, i): ProviderState => ({ use: String(use), settings, secrets: secrets[i] ?? {} }),
    );
    const limits = { on_unknown, rate_per_second, concurrency };
    const state: ChannelState = { id, slug, name, type, enabled, ...limits, providers };
    return { parent: row.project_id, state };
  });
  return byParent(states);
}

async function readLayouts(db: Db, organizationId: number, { within }: Wanted) {
  const layouts = await listAllLayouts(db, organizationId, within);
  return byParent(
    layouts.map(({ id, project_id, name, body }) => {
      const state: LayoutState = { id, name, body };
      return { parent: project_id, state };
    }),
  );
}

async function readWebhooks(db: Db, organizationId: number, openSecrets: OpenSecrets): Promise<WebhookState[]> {
  const rows = await listWebhookSettings(db, organizationId);
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

async function readLists(db: Db, organizationId: number, wanted: Wanted) {
  const lists = await listAllDistributionLists(db, organizationId, wanted.within);
  const members = Map.groupBy(
    wanted.members ? await listAllEmailMembers(db, organizationId) : [],
    member => member.list_id,
  );
  const usernames = (id: number) => (members.get(id) ?? []).map(member => member.username);
  return byParent(
    lists.map(({ id, project_id, name }) => {
      const state: ListState = { id, name, members: wanted.members ? usernames(id) : undefined };
      return { parent: project_id, state };
    }),
  );
}

async function readApplications(db: Db, organizationId: number, within?: Within) {
  const events = await readEvents(db, organizationId, within);
  const applications = await listAllApplications(db, organizationId, within);
  return byParent(
    applications.map(({ id, project_id, slug, name }) => {
      const state: ApplicationState = { id, slug, name, events: events.get(id) ?? [] };
      return { parent: project_id, state };
    }),
  );
}

async function readEvents(db: Db, organizationId: number, within?: Within) {
  const notifications = await readNotifications(db, organizationId, within);
  const events = await listAllEvents(db, organizationId, within);
  return byParent(
    events.map(({ application_id, ...own }) => {
      const state: EventState = { ...own, notifications: notifications.get(own.id) ?? [] };
      return { parent: application_id, state };
    }),
  );
}

/** By event. */
export async function readNotifications(db: Db, organizationId: number, within?: Within) {
  const messages = await listCurrentMessages(db, organizationId, within);
  const contents = new Map(messages.map(message => [message.notification_id, message.content]));
  const rows = await listAllNotifications(db, organizationId, within);
  return byParent(
    rows.map(({ event_id, ...row }) => {
      const content = contents.get(row.id) as unknown as StoredMessage | undefined;
      const state: NotificationState = {
        ...row,
        recipients: row.recipients as NotificationState['recipients'],
        content: content ?? { message: { body: '' }, overrides: {} },
      };
      return { parent: event_id, state };
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
