// Generated from migrations/ by `npm run generate`.
import type { ColumnType, Generated } from 'kysely';
import type { Json } from '../core/json.ts';

type JsonColumn = ColumnType<Json, string, string>;
type GeneratedJson = ColumnType<Json, string | undefined, string>;

export interface Addresses {
  organization_id: number;
  id: Generated<number>;
  user_id: number;
  name: string;
  value: string;
  created_at: Generated<Date>;
}

export interface Applications {
  organization_id: number;
  id: Generated<number>;
  project_id: number;
  slug: string;
  name: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Channels {
  organization_id: number;
  id: Generated<number>;
  project_id: number | null;
  slug: string;
  name: string;
  type: string;
  enabled: Generated<boolean>;
  providers: GeneratedJson;
  secrets: Buffer | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface DistributionLists {
  organization_id: number;
  id: Generated<number>;
  project_id: number;
  name: string;
  name_key: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Events {
  organization_id: number;
  id: Generated<number>;
  application_id: number;
  slug: string;
  name: string;
  active: Generated<boolean>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface IdempotencyKeys {
  organization_id: number;
  event_id: number;
  key: string;
  body_hash: Buffer;
  occurrence_id: string;
  created_at: Generated<Date>;
}

export interface Keys {
  organization_id: number;
  id: string;
  name: string;
  secret_hash: Buffer;
  project_id: number | null;
  application_id: number | null;
  permissions: string[];
  requests_per_second: number | null;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  created_at: Generated<Date>;
}

export interface Members {
  organization_id: number;
  id: Generated<number>;
  list_id: number;
  address_id: number;
  active: Generated<boolean>;
  created_at: Generated<Date>;
}

export interface Messages {
  organization_id: number;
  notification_id: number;
  version: number;
  content: JsonColumn;
  created_at: Generated<Date>;
}

export interface Notifications {
  organization_id: number;
  id: Generated<number>;
  event_id: number;
  name: string;
  active: Generated<boolean>;
  recipients: JsonColumn;
  channels: string[];
  filter: string | null;
  environs: string[] | null;
  extra_context: GeneratedJson;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Occurrences {
  organization_id: number;
  id: string;
  project_id: number;
  application_id: number;
  event_id: number;
  status: Generated<string>;
  priority: Generated<number>;
  context: JsonColumn;
  options: JsonColumn;
  correlation_id: string | null;
  key_id: string | null;
  due_at: Date;
  expires_at: Date | null;
  created_at: Date;
  completed_at: Date | null;
}

export interface Organizations {
  id: Generated<number>;
  slug: string;
  name: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Projects {
  organization_id: number;
  id: Generated<number>;
  slug: string;
  name: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Users {
  organization_id: number;
  id: Generated<number>;
  username: string;
  email: string;
  first_name: Generated<string>;
  last_name: Generated<string>;
  locked: Generated<boolean>;
  custom_fields: GeneratedJson;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Tables {
  addresses: Addresses;
  applications: Applications;
  channels: Channels;
  distribution_lists: DistributionLists;
  events: Events;
  idempotency_keys: IdempotencyKeys;
  keys: Keys;
  members: Members;
  messages: Messages;
  notifications: Notifications;
  occurrences: Occurrences;
  organizations: Organizations;
  projects: Projects;
  users: Users;
}
