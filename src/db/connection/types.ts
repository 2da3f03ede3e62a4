// Generated from migrations/ by `npm run generate`.
import type { ColumnType, Generated } from 'kysely';
import type { Json } from '../../core/json.ts';

type JsonColumn = ColumnType<Json, string, string>;
type GeneratedJson = ColumnType<Json, string | undefined, string>;
type NullableJson = ColumnType<Json | null, string | null | undefined, string | null>;

export interface AbsenceCalendars {
  organization_id: number;
  id: Generated<number>;
  user_id: number;
  secrets: Buffer;
  host: string;
  words: Generated<string[]>;
  due_at: Generated<Date>;
  etag: string | null;
  last_modified: string | null;
  read_at: Date | null;
  timezone: string | null;
  skipped: Generated<number>;
  is_cut: Generated<boolean>;
  fetched_at: Date | null;
  error: string | null;
  failing_since: Date | null;
  failures: Generated<number>;
  version: Generated<number>;
  created_at: Generated<Date>;
  created_by: string;
}

export interface Absences {
  organization_id: number;
  id: Generated<number>;
  user_id: number;
  starts_at: Date;
  ends_at: Date;
  reason: string | null;
  created_at: Generated<Date>;
  created_by: string;
  calendar_id: number | null;
}

export interface Accounts {
  id: Generated<number>;
  email: string;
  email_verified: Generated<boolean>;
  name: Generated<string>;
  password_hash: string | null;
  admin: Generated<boolean>;
  oidc_issuer: string | null;
  oidc_subject: string | null;
  created_at: Generated<Date>;
  last_seen_at: Date | null;
  totp_secret: Buffer | null;
  totp_added_at: Date | null;
  totp_last_step: number | null;
  generation: Generated<number>;
}

export interface Addresses {
  organization_id: number;
  id: Generated<number>;
  user_id: number;
  name: string;
  value: string;
  created_at: Generated<Date>;
  disabled_at: Date | null;
  disabled_reason: string | null;
  verified_at: Date | null;
}

export interface Applications {
  organization_id: number;
  id: Generated<number>;
  project_id: number;
  slug: string;
  name: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  paused_at: Date | null;
  paused_reason: string | null;
  guard: NullableJson;
  pause_cause: string | null;
}

export interface AttachmentUsage {
  organization_id: number;
  bytes: number;
}

export interface Attachments {
  organization_id: number;
  id: string;
  name: string;
  content_type: string;
  bytes: number;
  content: Buffer;
  created_at: Generated<Date>;
  expires_at: Date | null;
}

export interface Audit {
  organization_id: number;
  id: Generated<number>;
  at: Generated<Date>;
  actor_kind: string;
  actor_id: string | null;
  actor_name: string;
  action: string;
  noun: string;
  path: string;
  before: NullableJson;
  after: NullableJson;
  origin: string | null;
  request_id: string | null;
}

export interface Categories {
  organization_id: number;
  id: Generated<number>;
  slug: string;
  name: string;
  description: Generated<string>;
  kind: Generated<string>;
  default_on: Generated<boolean>;
  channel_defaults: GeneratedJson;
  channels: string[] | null;
  quiet_hours: Generated<string>;
  locales: GeneratedJson;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  track: Generated<boolean>;
}

export interface ChannelDayStats {
  organization_id: number;
  day: Date;
  channel_id: number;
  sent: number;
  failed: number;
  suppressed: number;
  cancelled: number;
  expired: number;
  unknown: number;
}

export interface ChannelFeedback {
  organization_id: number;
  channel_id: number;
  last_received_at: Date | null;
  last_refused_at: Date | null;
  last_refusal: string | null;
}

export interface ChannelOutages {
  organization_id: number;
  channel_id: number;
  since: Generated<Date>;
}

export interface ChannelRates {
  organization_id: number;
  channel_id: number;
  next_at: Generated<Date>;
  granted: Generated<number>;
}

export interface ChannelReputation {
  organization_id: number;
  channel_id: number;
  hour: Date;
  bounced: Generated<number>;
  bounced_temporarily: Generated<number>;
  complained: Generated<number>;
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
  paused_at: Date | null;
  on_unknown: Generated<string>;
  rate_per_second: number | null;
  concurrency: number | null;
  feedback_token: Generated<string>;
  reputation_guard: Generated<boolean>;
  max_bounce_percent: Generated<number>;
  max_complaint_percent: Generated<number>;
  bulk_paused_at: Date | null;
  bulk_paused_reason: string | null;
  reputation_since: Date | null;
  sent_before_since: Generated<number>;
  paused_reason: string | null;
  retry: NullableJson;
}

export interface DedupKeys {
  organization_id: number;
  event_id: number;
  key: string;
  occurrence_id: string;
  closes_at: Date;
}

export interface Deliveries {
  organization_id: number;
  occurrence_id: string;
  id: Generated<number>;
  notification_id: number;
  version: number;
  channel_id: number;
  user_id: number;
  address: string | null;
  status: string;
  reason: string | null;
  detail: string | null;
  priority: number;
  attempts: Generated<number>;
  provider_index: Generated<number>;
  provider_attempts: Generated<number>;
  provider: string | null;
  provider_message_id: string | null;
  owner: number | null;
  due_at: Date;
  created_at: Generated<Date>;
  sent_at: Date | null;
  snapshot_id: string | null;
  user_version: number | null;
  crashes: Generated<number>;
  attempt_ms: number | null;
  failed_attempts: NullableJson;
  digest_id: string | null;
  step: Generated<number>;
  released_at: Date | null;
  retry_since: Date | null;
  worker_deaths: number | null;
  variant: string | null;
  acted_at: Date | null;
}

export interface DeliveryStats {
  organization_id: number;
  hour: Date;
  event_id: number;
  channel_id: number;
  status: string;
  count: number;
}

export interface Digests {
  organization_id: number;
  id: string;
  event_id: number;
  notification_id: number;
  channel_id: number;
  recipient_id: number;
  user_id: number;
  address: string;
  key: string;
  items: number;
  opened_at: Generated<Date>;
  closes_at: Date;
  closed_at: Date | null;
}

export interface DistributionLists {
  organization_id: number;
  id: Generated<number>;
  project_id: number;
  name: string;
  name_key: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  members: Generated<number>;
  active_members: Generated<number>;
}

export interface EventAudiences {
  organization_id: number;
  event_id: number;
  day: Date;
  largest: number;
}

export interface EventDayStats {
  organization_id: number;
  day: Date;
  event_id: number;
  triggers: number;
  sent: number;
  failed: number;
  suppressed: number;
  cancelled: number;
  expired: number;
  unknown: number;
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
  paused_at: Date | null;
  category_id: number | null;
  context_schema: NullableJson;
  paused_reason: string | null;
  guard: NullableJson;
  pause_cause: string | null;
}

export interface Feedback {
  organization_id: number;
  occurrence_id: string;
  delivery_id: number;
  key: string;
  id: string;
  source: string;
  type: string;
  permanent: boolean | null;
  reason: string | null;
  detail: string | null;
  address: string | null;
  recipient: string | null;
  at: Date;
}

export interface FeedbackMailboxes {
  organization_id: number;
  channel_id: number;
  mailbox: string;
  due_at: Generated<Date>;
  uid_validity: number | null;
  last_uid: Generated<number>;
  checked_at: Date | null;
  failed_at: Date | null;
  error: string | null;
}

export interface FeedbackUnmatched {
  organization_id: number;
  key: string;
  id: string;
  source: string;
  type: string;
  permanent: boolean | null;
  reason: string | null;
  detail: string | null;
  recipient: string | null;
  message_id: string | null;
  delivery_ref: string | null;
  at: Date;
  channels: number[] | null;
}

export interface GuardMails {
  organization_id: number;
  account_id: number;
  about: string;
  items: GeneratedJson;
  count: Generated<number>;
  due_at: Date | null;
  claimed: NullableJson;
  attempts: Generated<number>;
  sent_at: Date | null;
}

export interface HeartbeatCalls {
  organization_id: number;
  heartbeat_id: number;
  slot: number;
  id: string;
  kind: string;
  exit_status: number | null;
  run_id: string | null;
  method: string;
  user_agent: string;
  body: Buffer;
  bytes: number;
}

export interface HeartbeatStates {
  organization_id: number;
  heartbeat_id: number;
  status: Generated<string>;
  reason: string | null;
  since: Generated<Date>;
  last_ping_at: Date | null;
  started_at: Date | null;
  run_id: string | null;
  expected_at: Date | null;
  missing_at: Date | null;
  alert: string | null;
  incident_id: string | null;
  occurrence_id: string | null;
  error: string | null;
  due_at: Date | null;
  calls: Generated<number>;
}

export interface HeartbeatWatch {
  id: Generated<boolean>;
  receiving_at: Date;
  outage_from: Date | null;
  outage_until: Date | null;
}

export interface Heartbeats {
  organization_id: number;
  id: Generated<number>;
  application_id: number;
  slug: string;
  name: string;
  every: string;
  timezone: string;
  grace: string;
  event: string;
  severity: string | null;
  context: NullableJson;
  enabled: boolean;
  token_hash: Buffer;
  secrets: Buffer;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Holds {
  organization_id: number;
  occurrence_id: string;
  kind: string;
  event_id: number;
  state: Generated<string>;
  threshold: number;
  largest: number | null;
  held_at: Generated<Date>;
  expires_at: Date;
  cursor: NullableJson;
  claims: Generated<number>;
  claimed_at: Date | null;
  counts: GeneratedJson;
  samples: GeneratedJson;
  is_counted: Generated<boolean>;
  decided_at: Date | null;
  decided_by: string | null;
  note: string | null;
  per_second: number | null;
  figures: NullableJson;
  mailed: Generated<boolean>;
}

export interface HourStats {
  organization_id: number;
  hour: Date;
  triggers: number;
  sent: number;
  failed: number;
  suppressed: number;
  cancelled: number;
  expired: number;
  unknown: number;
}

export interface IdempotencyKeys {
  organization_id: number;
  event_id: number;
  key: string;
  body_hash: Buffer;
  occurrence_id: string;
  created_at: Generated<Date>;
}

export interface Inbox {
  organization_id: number;
  user_id: number;
  id: number;
  occurrence_id: string;
  title: string;
  body: string;
  created_at: Generated<Date>;
  read_at: Date | null;
  archived_at: Date | null;
  seen_at: Date | null;
  acted_at: Date | null;
  action: string | null;
  category: string | null;
  avatar: string | null;
  actions: NullableJson;
  sequence: Generated<number>;
  created_sequence: Generated<number>;
}

export interface Inboxes {
  organization_id: number;
  user_id: number;
  sequence: Generated<number>;
  unread: Generated<number>;
  unseen: Generated<number>;
}

export interface Instance {
  xid: number;
  relation: number;
  database: number;
  system: string | null;
  server_major: number;
  timeline: number | null;
  addresses: Generated<string[]>;
  name: string | null;
  files_made_at: Date | null;
  seen_at: Generated<Date>;
  paused_at: Date | null;
  paused_reason: string | null;
  served_url: string | null;
}

export interface Invites {
  organization_id: number;
  id: Generated<number>;
  token_hash: Buffer;
  email: string;
  role: string;
  invited_by: string;
  created_at: Generated<Date>;
  expires_at: Date;
  mailed: Generated<boolean>;
  inviter_key_id: string | null;
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
  allowed_networks: string[] | null;
  rate_group: string | null;
  paused_at: Date | null;
  paused_reason: string | null;
  pause_cause: string | null;
}

export interface LatencyDayStats {
  organization_id: number;
  day: Date;
  bucket: number;
  count: number;
}

export interface LatencyStats {
  organization_id: number;
  hour: Date;
  bucket: number;
  count: number;
}

export interface LayoutVersions {
  organization_id: number;
  layout_id: number;
  version: number;
  body: string;
  created_at: Generated<Date>;
  created_by: string | null;
}

export interface Layouts {
  organization_id: number;
  id: Generated<number>;
  project_id: number | null;
  name: string;
  name_key: string;
  body: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface Members {
  organization_id: number;
  id: Generated<number>;
  list_id: number;
  address_id: number;
  active: Generated<boolean>;
  created_at: Generated<Date>;
}

export interface Memberships {
  organization_id: number;
  account_id: number;
  role: string;
  created_at: Generated<Date>;
}

export interface MessageUpdates {
  organization_id: number;
  occurrence_id: string;
  delivery_id: number;
  change: string;
  changed_by: string | null;
  changed_at: Date;
  status: Generated<string>;
  due_at: Generated<Date>;
  claimed: Generated<boolean>;
  claims: Generated<number>;
  attempts: Generated<number>;
  cursor: Generated<number>;
  log: GeneratedJson;
  until: Date | null;
}

export interface Messages {
  organization_id: number;
  notification_id: number;
  version: number;
  content: JsonColumn;
  created_at: Generated<Date>;
  created_by: string | null;
}

export interface MissingVariables {
  organization_id: number;
  notification_id: number;
  name: string;
  count: number;
  version: number;
  first_at: Date;
  last_at: Date;
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
  priority: number | null;
  throttle: NullableJson;
  digest: NullableJson;
  steps: NullableJson;
  give_up_after: string | null;
  notify_resolved: Generated<boolean>;
  canary: NullableJson;
  acknowledgement_expires: string | null;
  ack: string | null;
}

export interface OccurrenceAttachments {
  organization_id: number;
  occurrence_id: string;
  source: string;
  attachment_id: string;
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
  owner: number | null;
  cursor: NullableJson;
  reason: string | null;
  cancelled_at: Date | null;
  deliveries: Generated<number>;
  sent: Generated<number>;
  failed: Generated<number>;
  suppressed: Generated<number>;
  cancelled: Generated<number>;
  expired: Generated<number>;
  unknown: Generated<number>;
  crashes: Generated<number>;
  escalating: Generated<number>;
  awaits_acknowledgement: Generated<boolean>;
  triggers: Generated<number>;
  dedup_key: string | null;
  acknowledged_at: Date | null;
  acknowledged_by: string | null;
  resolved_at: Date | null;
  resolved_by: string | null;
  traceparent: string | null;
  outcome: string | null;
  unexpanded: number | null;
  cancelled_by: string | null;
  acknowledged_until: Date | null;
  snoozed_by: string | null;
  round_began_at: Date | null;
  earlier_contexts: NullableJson;
  acknowledged_users: NullableJson;
  first_page_at: Date | null;
}

export interface OrganizationChanges {
  organization_id: number;
  id: Generated<number>;
  table_name: string;
  key: JsonColumn;
}

export interface OrganizationMoves {
  organization_id: number;
  id: string;
  slug: string;
  state: string;
  url: string | null;
  copied: Generated<string[]>;
  feedback_tokens: Generated<string[]>;
  began_at: Generated<Date>;
  state_at: Generated<Date>;
}

export interface Organizations {
  id: Generated<number>;
  slug: string;
  name: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  retention_days: Generated<number>;
  two_factor_required: Generated<boolean>;
  triggers_per_second: Generated<number | null>;
  deliveries_per_trigger: Generated<number | null>;
  users_limit: Generated<number | null>;
  stored_messages_limit: Generated<number | null>;
  max_key_lifetime_days: number | null;
  brand_color: string | null;
  logo_url: string | null;
  timezone: string | null;
  quiet_hours: NullableJson;
  max_per_day: number | null;
  suppresses: Generated<boolean>;
  attachment_bytes_limit: Generated<number | null>;
  paused_at: Date | null;
  paused_reason: string | null;
  guard: NullableJson;
  service_levels: NullableJson;
}

export interface Passkeys {
  id: Generated<number>;
  account_id: number;
  credential_id: Buffer;
  public_key: Buffer;
  counter: number;
  transports: string[];
  name: string;
  created_at: Generated<Date>;
  last_used_at: Date | null;
  rp_id: string | null;
}

export interface PasswordResets {
  token_hash: Buffer;
  account_id: number;
  expires_at: Date;
}

export interface PreferenceHistory {
  organization_id: number;
  id: Generated<number>;
  user_id: number;
  scope: string;
  channel_type: string;
  enabled: boolean | null;
  source: string;
  changed_by: string;
  changed_at: Generated<Date>;
}

export interface Preferences {
  organization_id: number;
  user_id: number;
  scope: string;
  channel_type: Generated<string>;
  enabled: boolean;
  source: string;
  changed_at: Generated<Date>;
}

export interface Projects {
  organization_id: number;
  id: Generated<number>;
  slug: string;
  name: string;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  paused_at: Date | null;
  paused_reason: string | null;
}

export interface ProviderDays {
  organization_id: number;
  channel_id: number;
  provider: string;
  day: Date;
  used: number;
  first_day: Date;
  granted: number;
}

export interface ReceivedSignatures {
  organization_id: number;
  channel_id: number;
  signature: string;
  body: string;
  received_at: Date;
  expires_at: Date;
}

export interface RecoveryCodes {
  account_id: number;
  code_hash: Buffer;
}

export interface Registrations {
  organization_id: number;
  application_id: number;
  user_id: number;
  active: Generated<boolean>;
  custom_fields: GeneratedJson;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface RenderSnapshots {
  organization_id: number;
  id: string;
  content: JsonColumn;
  used_at: Generated<Date>;
}

export interface Responses {
  organization_id: number;
  occurrence_id: string;
  number: number;
  kind: string;
  at: Generated<Date>;
  by: string | null;
  until: Date | null;
}

export interface Rotations {
  organization_id: number;
  notification_id: number;
  step: number;
  turns: number;
}

export interface ScheduleGroups {
  organization_id: number;
  schedule_id: number;
  channel: string;
  group_id: string;
  wanted: string[] | null;
  members: string[] | null;
  member_ids: string[] | null;
  accounts: GeneratedJson;
  left_out: GeneratedJson;
  kept: Generated<boolean>;
  updated_at: Date | null;
  error: string | null;
  failing_since: Date | null;
  failures: Generated<number>;
  due_at: Date | null;
  claimed_until: Date | null;
  claims: Generated<number>;
}

export interface ScheduleHistory {
  organization_id: number;
  schedule_id: number;
  replaced_at: Date;
  timezone: string;
  layers: JsonColumn;
  combine: string;
}

export interface ScheduleNotices {
  organization_id: number;
  id: string;
  schedule_id: number;
  context: JsonColumn;
  recipients: string[];
  created_at: Generated<Date>;
  due_at: Generated<Date>;
}

export interface ScheduleOverrides {
  organization_id: number;
  id: Generated<number>;
  schedule_id: number;
  user_id: number;
  replaces: string | null;
  starts_at: Date;
  ends_at: Date;
  reason: string | null;
  created_at: Generated<Date>;
  created_by: string;
}

export interface ScheduleSwaps {
  organization_id: number;
  id: Generated<number>;
  schedule_id: number;
  user_id: number;
  starts_at: Date;
  ends_at: Date;
  message: string | null;
  state: Generated<string>;
  accepted_by_id: number | null;
  created_at: Generated<Date>;
  created_by: string;
}

export interface ScheduleWatches {
  organization_id: number;
  schedule_id: number;
  shifts: NullableJson;
  error: string | null;
  due_at: Generated<Date>;
}

export interface Schedules {
  organization_id: number;
  id: Generated<number>;
  project_id: number;
  slug: string;
  name: string;
  timezone: string;
  layers: JsonColumn;
  combine: string;
  fallback: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  on_change: string | null;
  test: NullableJson;
  test_due_at: Date | null;
  test_planned: Generated<boolean>;
  page: string | null;
  calendar_generation: Generated<number>;
  groups: NullableJson;
}

export interface ServiceLevelWriters {
  id: string;
  batch: number;
  written_at: Date;
}

export interface ServiceLevels {
  organization_id: number;
  day: Date;
  taken: Generated<number>;
  failed: Generated<number>;
  refused: Generated<number>;
  pages_in_time: Generated<number>;
  pages_late: Generated<number>;
}

export interface Sessions {
  token_hash: Buffer;
  account_id: number;
  created_at: Generated<Date>;
  last_used_at: Generated<Date>;
  expires_at: Date;
  user_agent: string | null;
  origin: string | null;
  id: Generated<number>;
  method: Generated<string>;
  confirmed_at: Generated<Date>;
}

export interface SignInLimits {
  email_hash: Buffer;
  scope: string;
  attempts: number;
  since: Generated<Date>;
  locked_until: Date | null;
}

export interface SilencedOccurrences {
  organization_id: number;
  silence_id: string;
  occurrence_id: string;
  effect: string;
  silenced_at: Generated<Date>;
  until: Date;
}

export interface Silences {
  organization_id: number;
  id: string;
  project_id: number | null;
  application_id: number | null;
  event_id: number | null;
  matchers: JsonColumn;
  reason: string;
  starts_at: Date;
  ends_at: Date;
  recurrence: NullableJson;
  created_at: Generated<Date>;
  created_by: string;
  ended_by: string | null;
}

export interface SourceAlerts {
  organization_id: number;
  source_id: number;
  key: string;
  id: string;
  number: Generated<number>;
  occurrence_id: string;
  state: string;
  title: string;
  severity: string | null;
  count: Generated<number>;
  opened_at: Generated<Date>;
  last_seen_at: Generated<Date>;
  details: GeneratedJson;
  context: NullableJson;
}

export interface SourcePayloads {
  organization_id: number;
  source_id: number;
  id: string;
  state: string;
  request: JsonColumn;
  body: Buffer;
  bytes: number;
  alerts: GeneratedJson;
  counts: GeneratedJson;
  note: string | null;
  retry_at: Date | null;
}

export interface SourceUpdates {
  organization_id: number;
  occurrence_id: string;
  source_id: number;
  key: string;
  state: string;
  changed_by: string;
  changed_at: Generated<Date>;
  status: Generated<string>;
  due_at: Generated<Date>;
  claimed: Generated<boolean>;
  claims: Generated<number>;
  attempts: Generated<number>;
  reference: string | null;
  log: GeneratedJson;
}

export interface Sources {
  organization_id: number;
  id: Generated<number>;
  application_id: number;
  slug: string;
  name: string;
  use: string | null;
  mapping: NullableJson;
  routes: JsonColumn;
  group_by: Generated<string[]>;
  token_hash: Buffer;
  secrets: Buffer;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  update: NullableJson;
  rejection_reported_at: Date | null;
}

export interface Steps {
  organization_id: number;
  occurrence_id: string;
  notification_id: number;
  number: number;
  step: number;
  status: Generated<string>;
  reason: string | null;
  priority: number;
  due_at: Date;
  began_at: Date;
  owner: number | null;
  cursor: NullableJson;
  messages: Generated<number>;
  suppressed: Generated<number>;
  crashes: Generated<number>;
  ended_at: Date | null;
  base: Generated<number>;
  turn: number | null;
}

export interface SummedStats {
  organization_id: number;
  until: Date;
}

export interface Suppressions {
  organization_id: number;
  id: Generated<number>;
  channel_type: string;
  target: string;
  reason: string;
  source: string;
  detail: string | null;
  since: Generated<Date>;
  expires_at: Date | null;
  feedback_id: string | null;
  projects: number[] | null;
}

export interface TestPages {
  organization_id: number;
  user_id: number;
  occurrence_id: string;
  sent_at: Date;
  pending: Generated<boolean>;
  confirmed_at: Date | null;
}

export interface ThrottleUses {
  organization_id: number;
  notification_id: number;
  user_id: number;
  key: string;
  times: Generated<Date[]>;
  expires_at: Date;
}

export interface TriggerRates {
  organization_id: number;
  kind: string;
  subject: string;
  day: Date;
  hour: Date;
  hour_count: Generated<number>;
  busiest: Generated<number>;
  minute: Date;
  normal: Generated<number>;
  urgent: Generated<number>;
}

export interface TriggerStats {
  organization_id: number;
  hour: Date;
  event_id: number;
  part: number;
  count: number;
}

export interface UnexpandedCounts {
  organization_id: number;
  occurrence_id: string;
  cursor: NullableJson;
  counted: Generated<number>;
  claims: Generated<number>;
  claimed_at: Date | null;
}

export interface UsedChallenges {
  challenge_hash: Buffer;
  expires_at: Date;
}

export interface UserHistory {
  organization_id: number;
  user_id: number;
  version: number;
  username: string;
  email: string;
  first_name: string;
  last_name: string;
  locked: boolean;
  locale: string | null;
  custom_fields: JsonColumn;
  replaced_at: Generated<Date>;
  timezone: string | null;
  memberships: NullableJson;
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
  locale: string | null;
  version: Generated<number>;
  first_key: Generated<string>;
  last_key: Generated<string>;
  choices: NullableJson;
  link_generation: Generated<number>;
  timezone: string | null;
  quiet_hours: NullableJson;
  memberships: NullableJson;
  chosen: NullableJson;
  reach: NullableJson;
  calendar_generation: Generated<number>;
}

export interface VerificationCodes {
  organization_id: number;
  id: Generated<number>;
  user_id: number;
  address_id: number;
  sent_to: string;
  code_hash: string | null;
  attempts_left: number;
  expires_at: Date;
  created_at: Generated<Date>;
}

export interface WatchStates {
  organization_id: number;
  watch_id: number;
  occurrence_id: string | null;
  began_at: Date | null;
  delivered_at: Date | null;
  pinged_at: Date | null;
  failing_since: Date | null;
  error: string | null;
  due_at: Date | null;
}

export interface Watches {
  organization_id: number;
  id: Generated<number>;
  application_id: number;
  slug: string;
  event: string;
  every: string;
  enabled: boolean;
  secrets: Buffer | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface WebhookMessages {
  organization_id: number;
  webhook_id: number;
  id: Generated<number>;
  key: Generated<string>;
  type: string;
  data: JsonColumn;
  status: Generated<string>;
  attempts: Generated<number>;
  due_at: Generated<Date>;
  claimed_at: Date | null;
  created_at: Generated<Date>;
  sent_at: Date | null;
  log: GeneratedJson;
}

export interface WebhookStates {
  organization_id: number;
  webhook_id: number;
  tokens: Generated<number>;
  tokens_at: Generated<Date>;
  last_success_at: Date | null;
  last_failure_at: Date | null;
  last_failure: string | null;
  failing_since: Date | null;
}

export interface Webhooks {
  organization_id: number;
  id: Generated<number>;
  slug: string;
  name: string;
  url: string;
  types: string[];
  enabled: Generated<boolean>;
  disabled_at: Date | null;
  disabled_reason: string | null;
  secrets: Buffer;
  previous_until: Date | null;
  active: Generated<boolean>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  instance_wide: Generated<boolean>;
}

export interface WorkerRounds {
  worker_id: number;
  finished_at: Date;
}

export interface Tables {
  absence_calendars: AbsenceCalendars;
  absences: Absences;
  accounts: Accounts;
  addresses: Addresses;
  applications: Applications;
  attachment_usage: AttachmentUsage;
  attachments: Attachments;
  audit: Audit;
  categories: Categories;
  channel_day_stats: ChannelDayStats;
  channel_feedback: ChannelFeedback;
  channel_outages: ChannelOutages;
  channel_rates: ChannelRates;
  channel_reputation: ChannelReputation;
  channels: Channels;
  dedup_keys: DedupKeys;
  deliveries: Deliveries;
  delivery_stats: DeliveryStats;
  digests: Digests;
  distribution_lists: DistributionLists;
  event_audiences: EventAudiences;
  event_day_stats: EventDayStats;
  events: Events;
  feedback: Feedback;
  feedback_mailboxes: FeedbackMailboxes;
  feedback_unmatched: FeedbackUnmatched;
  guard_mails: GuardMails;
  heartbeat_calls: HeartbeatCalls;
  heartbeat_states: HeartbeatStates;
  heartbeat_watch: HeartbeatWatch;
  heartbeats: Heartbeats;
  holds: Holds;
  hour_stats: HourStats;
  idempotency_keys: IdempotencyKeys;
  inbox: Inbox;
  inboxes: Inboxes;
  instance: Instance;
  invites: Invites;
  keys: Keys;
  latency_day_stats: LatencyDayStats;
  latency_stats: LatencyStats;
  layout_versions: LayoutVersions;
  layouts: Layouts;
  members: Members;
  memberships: Memberships;
  message_updates: MessageUpdates;
  messages: Messages;
  missing_variables: MissingVariables;
  notifications: Notifications;
  occurrence_attachments: OccurrenceAttachments;
  occurrences: Occurrences;
  organization_changes: OrganizationChanges;
  organization_moves: OrganizationMoves;
  organizations: Organizations;
  passkeys: Passkeys;
  password_resets: PasswordResets;
  preference_history: PreferenceHistory;
  preferences: Preferences;
  projects: Projects;
  provider_days: ProviderDays;
  received_signatures: ReceivedSignatures;
  recovery_codes: RecoveryCodes;
  registrations: Registrations;
  render_snapshots: RenderSnapshots;
  responses: Responses;
  rotations: Rotations;
  schedule_groups: ScheduleGroups;
  schedule_history: ScheduleHistory;
  schedule_notices: ScheduleNotices;
  schedule_overrides: ScheduleOverrides;
  schedule_swaps: ScheduleSwaps;
  schedule_watches: ScheduleWatches;
  schedules: Schedules;
  service_level_writers: ServiceLevelWriters;
  service_levels: ServiceLevels;
  sessions: Sessions;
  sign_in_limits: SignInLimits;
  silenced_occurrences: SilencedOccurrences;
  silences: Silences;
  source_alerts: SourceAlerts;
  source_payloads: SourcePayloads;
  source_updates: SourceUpdates;
  sources: Sources;
  steps: Steps;
  summed_stats: SummedStats;
  suppressions: Suppressions;
  test_pages: TestPages;
  throttle_uses: ThrottleUses;
  trigger_rates: TriggerRates;
  trigger_stats: TriggerStats;
  unexpanded_counts: UnexpandedCounts;
  used_challenges: UsedChallenges;
  user_history: UserHistory;
  users: Users;
  verification_codes: VerificationCodes;
  watch_states: WatchStates;
  watches: Watches;
  webhook_messages: WebhookMessages;
  webhook_states: WebhookStates;
  webhooks: Webhooks;
  worker_rounds: WorkerRounds;
}
