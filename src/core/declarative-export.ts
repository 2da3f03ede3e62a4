/** From what is back to a document: the way the file is written by hand, so that applying it changes nothing. */
import type {
  ChannelEntry,
  EventEntry,
  NotificationEntry,
  OrganizationDocument,
  ProjectEntry,
  UserEntry,
} from './declarative.ts';
import { toEntry } from './declarative-fields.ts';
import type {
  ChannelState,
  EventState,
  NotificationState,
  OrganizationState,
  ProjectState,
  ProviderState,
  UserState,
} from './declarative-state.ts';

/** Everything but secrets: `open` leaves out of a provider what must not be shown. */
export function toDocument(
  { slug, name, channels = [], users = [], projects = [] }: OrganizationState,
  open: (provider: ProviderState) => ProviderState,
): OrganizationDocument {
  const channel = ({ slug, name, type, enabled, providers = [] }: ChannelState): ChannelEntry => ({
    slug,
    name,
    type: type as ChannelEntry['type'],
    enabled,
    providers: providers.map(provider => toEntry(open(provider))),
  });
  const project = ({ slug, name, channels = [], lists = [], applications = [] }: ProjectState): ProjectEntry => ({
    slug,
    name,
    channels: channels.map(channel),
    distribution_lists: lists.map(({ name, members = [] }) => ({ name, members })),
    applications: applications.map(({ slug, name, events = [] }) => ({ slug, name, events: events.map(toEventEntry) })),
  });
  return {
    slug,
    name,
    channels: channels.map(channel),
    users: users.map(toUserEntry),
    projects: projects.map(project),
  };
}

function toUserEntry(user: UserState): UserEntry {
  const { email, first_name = '', last_name = '', locked, custom_fields = {}, addresses = [] } = user;
  return { email, first_name, last_name, ...(locked && { locked }), custom_fields, addresses };
}

function toEventEntry({ slug, name, active, notifications = [] }: EventState): EventEntry {
  return { slug, name, active, notifications: notifications.map(toNotificationEntry) };
}

function toNotificationEntry(notification: NotificationState): NotificationEntry {
  const { name, active, recipients, channels, filter, environs, extra_context, content } = notification;
  return {
    name,
    ...(!active && { active }),
    recipients,
    channels,
    ...(filter !== null && { filter }),
    ...(environs !== null && { environs }),
    ...(Object.keys(extra_context).length > 0 && { extra_context }),
    message: subjectFirst(content.message),
    ...(Object.keys(content.overrides).length > 0 && { overrides: content.overrides }),
  };
}

/** The database does not keep the order of keys. */
function subjectFirst({ subject, body }: NotificationEntry['message']): NotificationEntry['message'] {
  return { ...(subject !== undefined && { subject }), body };
}
