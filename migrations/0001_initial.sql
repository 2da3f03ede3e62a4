-- The schema of 0.1.0. Later migrations only add to it or change it: a released migration is never edited.
--
-- Every key of a tenant table starts with the organization, including foreign keys: a row cannot point into another tenant, and
-- the whole database can be distributed by organization.

create sequence delivery_ids;
create sequence worker_ids;

-- Sorts users by name, or by username without one, with numbers as numbers: Ann 2 comes before Ann 10. Numbers are padded to twelve
-- digits.
create function natural_key(first_key text, last_key text, username text) returns text
  language sql immutable parallel safe
  return regexp_replace(
    regexp_replace(
      case when first_key = '' and last_key = '' then username else btrim(first_key || ' ' || last_key) end,
      '(\d+)', '000000000000\1', 'g'),
    '\d*(\d{12})', '\1', 'g') collate "C";

create table organizations (
  id bigint generated always as identity primary key,
  slug text not null unique,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  retention_days integer not null default 90,
  -- Whether members must sign in with a second factor.
  two_factor_required boolean not null default false,
  -- Limits that only the operator changes; null: no limit. The defaults are far above what one organization usually needs.
  -- Triggers are limited in each API process.
  triggers_per_second integer default 20000 check (triggers_per_second > 0),
  deliveries_per_trigger integer default 5000000 check (deliveries_per_trigger > 0),
  users_limit integer default 5000000 check (users_limit > 0),
  stored_messages_limit bigint default 200000000 check (stored_messages_limit > 0),
  -- The maximum lifetime of API keys that are created from now on. Null: no limit.
  max_key_lifetime_days integer check (max_key_lifetime_days > 0),
  -- For the pages that recipients see.
  brand_color text,
  logo_url text,
  -- Quiet hours are wall-clock times in a zone, so that daylight saving does not move them. A user's own quiet hours and time zone
  -- have precedence.
  timezone text,
  quiet_hours jsonb,
  -- Messages per user and day. Null: no limit.
  max_per_day integer check (max_per_day > 0),
  -- Whether the organization has ever had an entry. Plans cache it, so that organizations without entries never look any up.
  -- It is never reset: resetting it while another transaction adds an entry would hide that entry from the workers.
  suppresses boolean not null default false,
  -- Bytes of the files that it stores: uploads, used or not, and fetched ones.
  attachment_bytes_limit bigint default 21474836480 check (attachment_bytes_limit > 0)
);

create table projects (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  slug text not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, slug)
);

create table applications (
  organization_id bigint not null,
  id bigint generated always as identity,
  project_id bigint not null,
  slug text not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- A pause holds messages; resuming sends them.
  paused_at timestamptz,
  -- Why a user paused it, or the engine because its settings seem to be wrong. Null: no reason was given, or it is not paused.
  paused_reason text,
  primary key (organization_id, id),
  unique (organization_id, project_id, slug),
  foreign key (organization_id, project_id) references projects on delete cascade
);

create table events (
  organization_id bigint not null,
  id bigint generated always as identity,
  application_id bigint not null,
  slug text not null,
  name text not null,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  paused_at timestamptz,
  category_id bigint,
  -- What the context of an event must look like: a JSON Schema, kept as it was written, order included. Null: anything.
  context_schema json,
  paused_reason text,
  primary key (organization_id, id),
  unique (organization_id, application_id, slug),
  foreign key (organization_id, application_id) references applications on delete cascade
);
create index events_by_category on events (organization_id, category_id) where category_id is not null;

-- A channel belongs to its organization (project_id null) or to one project of it.
create table channels (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  project_id bigint,
  slug text not null,
  name text not null,
  type text not null,
  enabled boolean not null default true,
  -- [{ "use": "smtp", … }], tried in order; what is secret in them is taken out and kept below.
  providers jsonb not null default '[]',
  -- AES-256-GCM of [{ field: value }], one object for each provider.
  secrets bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  paused_at timestamptz,
  -- What to do with a message whose response was lost: send it again, or hold it until someone decides.
  on_unknown text not null default 'resend',
  rate_per_second integer,
  concurrency integer,
  -- Each channel has an address that services report feedback to. The token in it is random, not derived from a key: it is
  -- pasted into the settings of a service and must survive a new secret key.
  feedback_token text not null default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
  -- Protects the reputation of email senders: counts bounces and complaints, and pauses bulk messages of a channel with too many.
  reputation_guard boolean not null default true,
  max_bounce_percent double precision not null default 5,
  max_complaint_percent double precision not null default 0.3,
  -- Since when bulk messages are held, and why; null: they are not. `paused_at` holds all messages.
  bulk_paused_at timestamptz,
  bulk_paused_reason text,
  -- The last resume after such a pause: messages sent before it count no more. Hours are counted as a whole, so those
  -- sent earlier in its hour are subtracted.
  reputation_since timestamptz,
  sent_before_since bigint not null default 0,
  paused_reason text,
  -- How long its messages are retried: { "for": "4h" }. Null: the default of its type.
  retry jsonb,
  primary key (organization_id, id),
  unique nulls not distinct (organization_id, project_id, slug),
  foreign key (organization_id, project_id) references projects on delete cascade
);
create index channels_by_feedback_token on channels (feedback_token);
create index channels_bulk_paused on channels (organization_id) where bulk_paused_at is not null;

create table users (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  -- The email in lower case: what paths name.
  username text collate "C" not null,
  email text not null,
  first_name text not null default '',
  last_name text not null default '',
  locked boolean not null default false,
  custom_fields jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  locale text,
  -- Previous versions are in user_history. They are deleted with the user.
  version integer not null default 1,
  -- Names in lower case, folded by the program and compared byte by byte, to search by prefix.
  first_key text collate "C" not null default '',
  last_key text collate "C" not null default '',
  -- The user's preferences, kept by a trigger: the engine reads users by the thousand, and most have none.
  choices jsonb,
  -- Incrementing it revokes all links and tokens that the user was given.
  link_generation integer not null default 0,
  timezone text,
  quiet_hours jsonb,
  -- Custom fields of the user's registrations by the id of the application, kept by a trigger, for messages.
  memberships jsonb,
  -- The same as JSON text, which the engine reads without PostgreSQL formatting jsonb for each recipient.
  chosen json,
  primary key (organization_id, id),
  unique (organization_id, username)
);
create index users_by_first_name on users (organization_id, first_key, last_key, id);
create index users_by_last_name on users (organization_id, last_key, first_key, id);
create index users_by_name on users (organization_id, natural_key(first_key, last_key, username), id);
create index users_locked on users (organization_id, natural_key(first_key, last_key, username), id) where locked;

create table addresses (
  organization_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  name text not null,
  value text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  disabled_reason text,
  primary key (organization_id, id),
  unique (organization_id, user_id, name, value),
  foreign key (organization_id, user_id) references users on delete cascade
);
-- Who has this phone number or the like; an email is found as a username.
create index addresses_by_value on addresses (organization_id, value) where name <> 'email';
create index addresses_disabled on addresses (organization_id) where disabled_at is not null;

create table distribution_lists (
  organization_id bigint not null,
  id bigint generated always as identity,
  project_id bigint not null,
  name text not null,
  -- The name in lower case, folded by the program: lower() answers differently under different collations.
  name_key text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  members integer not null default 0,
  active_members integer not null default 0,
  primary key (organization_id, id),
  unique (organization_id, project_id, name_key),
  foreign key (organization_id, project_id) references projects on delete cascade
);

create table members (
  organization_id bigint not null,
  id bigint generated always as identity,
  list_id bigint not null,
  address_id bigint not null,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique (organization_id, list_id, address_id),
  foreign key (organization_id, list_id) references distribution_lists on delete cascade,
  foreign key (organization_id, address_id) references addresses on delete cascade
);
create index members_by_list on members (organization_id, list_id, id);
create index members_by_address on members (organization_id, address_id);

create table keys (
  organization_id bigint not null references organizations on delete cascade,
  -- The public part of bf_<id>_<secret>; random, so unique without a constraint across tenants.
  id text not null,
  name text not null,
  secret_hash bytea not null,
  project_id bigint,
  application_id bigint,
  permissions text[] not null,
  requests_per_second integer,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  -- Addresses and networks from which a key may be used, in CIDR notation. Null: from everywhere.
  allowed_networks text[] check (cardinality(allowed_networks) > 0),
  -- Keys with the same group share one rate limit: a key and all keys that were created or rotated with it. Null: the key's own id.
  rate_group text,
  primary key (organization_id, id),
  unique (organization_id, name),
  foreign key (organization_id, project_id) references projects on delete cascade,
  foreign key (organization_id, application_id) references applications on delete cascade
);
create index keys_by_id on keys (id);

-- A rule of an event: whom, by which channels, when.
create table notifications (
  organization_id bigint not null,
  id bigint generated always as identity,
  event_id bigint not null,
  name text not null,
  active boolean not null default true,
  recipients jsonb not null,
  channels text[] not null,
  filter text,
  environs text[],
  extra_context jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- If the trigger does not set one: 0 urgent, 1 normal, 2 bulk.
  priority smallint,
  throttle jsonb,
  -- Each occurrence keeps its own delivery; those of one digest share its id. The first of them carries the message and is due when
  -- the digest closes. The others are never due, and end in the statement that ends the carrier.
  digest jsonb,
  steps jsonb,
  give_up_after text,
  notify_resolved boolean not null default false,
  primary key (organization_id, id),
  unique (organization_id, event_id, name),
  foreign key (organization_id, event_id) references events on delete cascade
);

-- What a notification says. A change adds a version; the highest is the current one.
create table messages (
  organization_id bigint not null,
  notification_id bigint not null,
  version integer not null,
  content jsonb not null,
  created_at timestamptz not null default now(),
  created_by text,
  primary key (organization_id, notification_id, version),
  foreign key (organization_id, notification_id) references notifications on delete cascade
);

-- One accepted trigger each. Identifiers are UUIDv7, so a range of them is a span of time: partitions are cut by it.
-- Configuration may be deleted while its history stays, hence no foreign keys to it.
create table occurrences (
  organization_id bigint not null,
  id uuid not null,
  project_id bigint not null,
  application_id bigint not null,
  event_id bigint not null,
  status text not null default 'accepted',
  -- 0 urgent, 1 normal, 2 bulk
  priority smallint not null default 1,
  context jsonb not null,
  options jsonb not null,
  correlation_id text,
  key_id text,
  due_at timestamptz not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  completed_at timestamptz,
  -- The ledger is the queue: an occurrence and a delivery each carry their state, due time and owner, and workers claim
  -- what is due with `for update skip locked`. There is no second record of the same work.
  -- The worker that expands it now, as long as the worker holds its advisory lock.
  owner bigint,
  -- Which notification and recipient come next, after a page has been committed.
  cursor jsonb,
  reason text,
  cancelled_at timestamptz,
  -- Updated as deliveries change, so that they are never counted. All others are outstanding.
  deliveries integer not null default 0,
  sent integer not null default 0,
  failed integer not null default 0,
  suppressed integer not null default 0,
  cancelled integer not null default 0,
  expired integer not null default 0,
  unknown integer not null default 0,
  -- How often processing it has crashed a worker; the third time, it is set aside.
  crashes smallint not null default 0,
  -- How many of its notifications still have steps to come.
  escalating smallint not null default 0,
  awaits_acknowledgement boolean not null default false,
  triggers integer not null default 1,
  dedup_key text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  resolved_at timestamptz,
  resolved_by text,
  -- Its position in a trace (W3C Trace Context), which all processes that work on it continue. Null: none.
  traceparent text,
  -- Kept by a trigger; null: it is about to be expanded.
  outcome text,
  -- How many deliveries an occurrence would have had beyond those on record, because it stopped before all of its recipients were
  -- expanded: it was cancelled, its event was deleted or switched off, or it reached a limit. Null: it did not stop early; -1: the
  -- number is not known, or not yet.
  unexpanded integer,
  -- The user, API key or command that cancelled it.
  cancelled_by text,
  primary key (organization_id, id)
) partition by range (id);
create index occurrences_by_correlation on occurrences (organization_id, correlation_id) where correlation_id is not null;
create index occurrences_due on occurrences (priority, organization_id, due_at) where status = 'accepted';
create index occurrences_expanding on occurrences (owner) where status = 'expanding';
create index occurrences_continued on occurrences (priority, organization_id, due_at)
  where status = 'expanding' and owner is null;
create index occurrences_held on occurrences (event_id)
  where status in ('accepted', 'expanding') and due_at = 'infinity';
create index occurrences_unacknowledged on occurrences (organization_id, id) where awaits_acknowledgement;
create index occurrences_by_outcome on occurrences (organization_id, outcome, id) where outcome is not null;
-- Takes what no month's partition holds, so that an accepted trigger is stored whatever else went wrong.
create table occurrences_rest partition of occurrences default;

create table idempotency_keys (
  organization_id bigint not null,
  event_id bigint not null,
  key text not null,
  body_hash bytea not null,
  occurrence_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, event_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- One message to one recipient by one channel, from decision to outcome. Partitioned with its occurrence.
create table deliveries (
  organization_id bigint not null,
  occurrence_id uuid not null,
  id bigint not null default nextval('delivery_ids'),
  notification_id bigint not null,
  -- Version of the notification's message: with the context it reproduces what was sent.
  version integer not null,
  channel_id bigint not null,
  user_id bigint not null,
  -- Null where the user has none for this channel.
  address text,
  -- pending, sending, sent, retrying, failed, suppressed, cancelled, expired, unknown
  status text not null,
  -- A stable code: why it was not sent, or failed.
  reason text,
  -- In the provider's own words.
  detail text,
  priority smallint not null,
  attempts smallint not null default 0,
  -- Which of the channel's providers is next, and how often it has been tried.
  provider_index smallint not null default 0,
  provider_attempts smallint not null default 0,
  provider text,
  provider_message_id text,
  owner bigint,
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  -- The render snapshot of the last attempt; null before the first.
  snapshot_id uuid,
  user_version integer,
  crashes smallint not null default 0,
  -- The duration of the last attempt. Only failed attempts are recorded one by one: nearly all messages need one attempt.
  attempt_ms integer,
  -- [{ "at", "provider", "outcome", "detail", "ms" }], the oldest first and the last twenty at the most.
  failed_attempts jsonb,
  digest_id uuid,
  -- The run that a delivery belongs to; 0: its notification has no steps; -1: the message that the occurrence is
  -- resolved. Several steps may notify the same user by the same channel, each of them once.
  step smallint not null default 0,
  -- When a delivery was last released from a wait that is not latency: a pause, quiet hours, or the time until it was
  -- replayed. Null if it never waited.
  released_at timestamptz,
  -- When the first attempt failed, or the message first waited for a provider that fails: retries end a fixed time later. Null:
  -- neither happened since it was stored, replayed or released from a pause.
  retry_since timestamptz,
  -- How many workers died while they were sending it; null: none.
  worker_deaths smallint,
  primary key (organization_id, occurrence_id, id)
) partition by range (occurrence_id);
create index deliveries_due on deliveries (priority, organization_id, due_at) where status in ('pending', 'retrying');
create index deliveries_sending on deliveries (owner) where status = 'sending';
create index deliveries_held on deliveries (channel_id) where status = 'pending' and due_at = 'infinity';
-- Each delivery pays for every index, when it is inserted and when its status changes. Inserting, claiming and settling 100,000
-- deliveries took 3.9 s without this one, 4.3 s with it (equal keys are stored once, and only after the settlement), and 8.0 s as
-- (organization_id, user_id, occurrence_id) without a condition.
create index deliveries_by_user on deliveries (user_id)
  where status in ('sent', 'failed', 'suppressed', 'cancelled', 'expired', 'unknown');
create index deliveries_failed on deliveries (organization_id, occurrence_id, id) where status in ('failed', 'unknown');
create index deliveries_sandboxed on deliveries (organization_id, occurrence_id, id) where provider = 'sandbox';
create index deliveries_of_digest on deliveries (organization_id, digest_id, occurrence_id, id)
  where digest_id is not null;
create unique index deliveries_once on deliveries (
  organization_id, (nullif(occurrence_id, '00000000-0000-0000-0000-000000000000')), notification_id, channel_id,
  (coalesce(address, '#' || user_id)), step, occurrence_id);
-- Who was notified by earlier steps. It does not start with the organization, so that the planner does not take the primary key
-- instead, which reads a whole fan-out for each user.
create index deliveries_of_steps on deliveries (occurrence_id, user_id) where step > 0;
-- Why messages of an occurrence were not sent: counted and listed by reason, whatever else it sent.
create index deliveries_suppressed on deliveries (organization_id, occurrence_id, reason, id) where status = 'suppressed';
-- Only for services that may report nothing but their own id. All others return the id of the delivery, which is its key.
create index deliveries_by_provider_id on deliveries (organization_id, provider_message_id)
  where provider in ('mailersend', 'resend', 'ses', 'twilio') and provider_message_id is not null;
create table deliveries_rest partition of deliveries default;

-- Outcomes by hour, event and channel.
create table delivery_stats (
  organization_id bigint not null,
  hour timestamptz not null,
  event_id bigint not null,
  channel_id bigint not null,
  status text not null,
  count bigint not null,
  primary key (organization_id, hour, event_id, channel_id, status)
);

-- The send times of channels with a rate, shared by all workers.
create table channel_rates (
  organization_id bigint not null,
  channel_id bigint not null,
  -- The first time that is not reserved yet.
  next_at timestamptz not null default '-infinity',
  -- How many times the last reservation got.
  granted integer not null default 0,
  primary key (organization_id, channel_id),
  foreign key (organization_id, channel_id) references channels on delete cascade
);

-- In-app messages, as the user sees them.
create table inbox (
  organization_id bigint not null,
  user_id bigint not null,
  id bigint not null,
  occurrence_id uuid not null,
  title text not null,
  body text not null,
  created_at timestamptz not null default now(),
  read_at timestamptz,
  archived_at timestamptz,
  seen_at timestamptz,
  acted_at timestamptz,
  -- The name of the action that was taken.
  action text,
  category text,
  avatar text,
  actions jsonb,
  -- The numbers of its last change and of its arrival in the inbox, from which a stream continues.
  sequence bigint not null default 0,
  created_sequence bigint not null default 0,
  primary key (organization_id, user_id, id),
  foreign key (organization_id, user_id) references users on delete cascade
);
create index inbox_current on inbox (organization_id, user_id, id) where archived_at is null;
create index inbox_unread on inbox (organization_id, user_id, id) where archived_at is null and read_at is null;
-- Messages beyond the organization's retention.
create index inbox_by_age on inbox (organization_id, created_at);
-- Whether a message of a step was read, by its id alone.
create index inbox_read on inbox (id) where read_at is not null;
create index inbox_by_sequence on inbox (organization_id, user_id, sequence);

-- HTML around the bodies of mails; of the organization (project_id null) or of one of its projects, like channels.
create table layouts (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  project_id bigint,
  name text not null,
  -- As for distribution lists.
  name_key text not null,
  body text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, id),
  unique nulls not distinct (organization_id, project_id, name_key),
  foreign key (organization_id, project_id) references projects on delete cascade
);

-- A sent message is not stored, but can be rendered again exactly, whatever was changed or deleted since: from a version of the user,
-- the context, and this snapshot of template, layout and names. Rows are found by a hash of their content, so that equal ones are
-- stored once.
create table render_snapshots (
  organization_id bigint not null references organizations on delete cascade,
  -- The first half of the SHA-256 of the content.
  id uuid not null,
  content jsonb not null,
  -- Updated once a day, so that snapshots that no stored delivery can use are deleted.
  used_at timestamptz not null default now(),
  primary key (organization_id, id)
);

create table user_history (
  organization_id bigint not null,
  user_id bigint not null,
  version integer not null,
  username text not null,
  email text not null,
  first_name text not null,
  last_name text not null,
  locked boolean not null,
  locale text,
  custom_fields jsonb not null,
  replaced_at timestamptz not null default now(),
  -- Templates write dates in it.
  timezone text,
  memberships jsonb,
  primary key (organization_id, user_id, version),
  foreign key (organization_id, user_id) references users on delete cascade
);
create index user_history_by_age on user_history (organization_id, replaced_at);

-- Variables that templates use and the context did not have.
create table missing_variables (
  organization_id bigint not null,
  notification_id bigint not null,
  name text not null,
  -- The number of deliveries.
  count bigint not null,
  -- The version of the last message that lacked it.
  version integer not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (organization_id, notification_id, name),
  foreign key (organization_id, notification_id) references notifications on delete cascade
);

-- Who changed what, from where, and what it was before. Written in the transaction of the change itself.
create table audit (
  -- Not a reference: that an organization was deleted is worth knowing after it is gone.
  organization_id bigint not null,
  id bigint generated always as identity,
  at timestamptz not null default now(),
  -- key, account or command
  actor_kind text not null,
  -- Of the key or account.
  actor_id text,
  -- Its name at that time.
  actor_name text not null,
  action text not null,
  noun text not null,
  -- Names and slugs below the organization, as in shop/web/order-paid/receipt.
  path text not null,
  before jsonb,
  after jsonb,
  -- The network address that the request came from.
  origin text,
  request_id text,
  primary key (organization_id, id)
);
create index audit_by_age on audit (at);

-- Members of organizations sign in with accounts. An account may belong to several organizations, so it and its sessions have no
-- organization.
create table accounts (
  id bigint generated always as identity primary key,
  -- In lower case.
  email text not null unique,
  -- Whether the operator or an identity provider has confirmed the address.
  email_verified boolean not null default false,
  name text not null default '',
  -- Argon2id as a PHC string; null if only an identity provider signs it in.
  password_hash text,
  -- An operator of the whole instance: reaches every organization and may create them.
  admin boolean not null default false,
  -- The identity at the identity provider.
  oidc_issuer text,
  oidc_subject text,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz,
  -- The secret of the authenticator app, encrypted; null without one.
  totp_secret bytea,
  totp_added_at timestamptz,
  -- The time step of the last accepted code: a code works once.
  totp_last_step bigint,
  -- Incremented when the sessions of the account are ended, so that a sign-in that began before opens none.
  generation integer not null default 0,
  unique (oidc_issuer, oidc_subject)
);

create table memberships (
  organization_id bigint not null references organizations on delete cascade,
  account_id bigint not null references accounts on delete cascade,
  -- owner, admin, editor or viewer
  role text not null,
  created_at timestamptz not null default now(),
  primary key (organization_id, account_id)
);
create index memberships_by_account on memberships (account_id);

create table sessions (
  -- SHA-256 of the cookie's token.
  token_hash bytea primary key,
  account_id bigint not null references accounts on delete cascade,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  -- However often it is used.
  expires_at timestamptz not null,
  user_agent text,
  origin text,
  -- Its public id.
  id bigint generated always as identity unique,
  -- password, passkey or oidc
  method text not null default 'password',
  -- When the user last authenticated: changes that weaken an account need a recent authentication.
  confirmed_at timestamptz not null default now()
);
create index sessions_by_account on sessions (account_id);

create table invites (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  -- SHA-256 of the link's token.
  token_hash bytea not null,
  -- In lower case.
  email text not null,
  role text not null,
  -- The name of the account or key.
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- Whether the link was only sent by mail: then using it proves that the address is the user's own.
  mailed boolean not null default false,
  -- The key that created the invite; null if the account with the email `invited_by` did. An invite ends with its inviter.
  inviter_key_id text,
  primary key (organization_id, id),
  unique (organization_id, email)
);
create index invites_by_token on invites (token_hash);
create index invites_by_email on invites (email);

-- The versions of layouts, as of messages. The layout has the current one.
create table layout_versions (
  organization_id bigint not null,
  layout_id bigint not null,
  version integer not null,
  body text not null,
  created_at timestamptz not null default now(),
  created_by text,
  primary key (organization_id, layout_id, version),
  foreign key (organization_id, layout_id) references layouts on delete cascade
);

-- Triggers by the hour of their acceptance. Processes that store triggers of the same event would wait for each other's
-- commit at one row, so each has its own part. Without a foreign key: a trigger at the time of its organization's deletion must not
-- fail the others that are stored with it.
create table trigger_stats (
  organization_id bigint not null,
  hour timestamptz not null,
  event_id bigint not null,
  part smallint not null,
  count bigint not null,
  primary key (organization_id, hour, event_id, part)
);

-- How long messages took from being due to being sent; src/core/history/latency.ts has the bounds of the buckets.
create table latency_stats (
  organization_id bigint not null,
  hour timestamptz not null,
  bucket smallint not null,
  count bigint not null,
  primary key (organization_id, hour, bucket)
);

-- Sums of the statistics of past days, so that a month is read from thirty rows. Workers only write the hourly counts; maintenance
-- adds them up. Without foreign keys: an organization may be deleted meanwhile. All days before `until` are summed.
create table summed_stats (
  organization_id bigint primary key,
  until timestamptz not null
);

create table hour_stats (
  organization_id bigint not null,
  hour timestamptz not null,
  triggers bigint not null,
  sent bigint not null,
  failed bigint not null,
  suppressed bigint not null,
  cancelled bigint not null,
  expired bigint not null,
  unknown bigint not null,
  primary key (organization_id, hour)
);

create table event_day_stats (
  organization_id bigint not null,
  day timestamptz not null,
  event_id bigint not null,
  triggers bigint not null,
  sent bigint not null,
  failed bigint not null,
  suppressed bigint not null,
  cancelled bigint not null,
  expired bigint not null,
  unknown bigint not null,
  primary key (organization_id, event_id, day)
);
-- Finds the busiest events without reading the table.
create index event_day_stats_busy on event_day_stats (organization_id, day) include (event_id, triggers, sent);

create table channel_day_stats (
  organization_id bigint not null,
  day timestamptz not null,
  channel_id bigint not null,
  sent bigint not null,
  failed bigint not null,
  suppressed bigint not null,
  cancelled bigint not null,
  expired bigint not null,
  unknown bigint not null,
  primary key (organization_id, day, channel_id)
);

create table latency_day_stats (
  organization_id bigint not null,
  day timestamptz not null,
  bucket smallint not null,
  count bigint not null,
  primary key (organization_id, day, bucket)
);

create table passkeys (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  credential_id bytea not null unique,
  -- COSE.
  public_key bytea not null,
  -- The signature counter; one that does not grow means a copied key. Many authenticators always report 0.
  counter bigint not null,
  -- How the browser can reach it: usb, nfc, internal, hybrid, …
  transports text[] not null,
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  -- The host name that a passkey is bound to: browsers offer it only there.
  rp_id text
);
create index passkeys_by_account on passkeys (account_id);

create table recovery_codes (
  account_id bigint not null references accounts on delete cascade,
  -- SHA-256 of the code without its dashes.
  code_hash bytea not null,
  primary key (account_id, code_hash)
);

create table password_resets (
  -- SHA-256 of the link's token.
  token_hash bytea primary key,
  account_id bigint not null references accounts on delete cascade,
  expires_at timestamptz not null
);
create index password_resets_by_account on password_resets (account_id);

-- Challenges of completed sign-ins. Before that, only the browser has the challenge, encrypted.
create table used_challenges (
  -- SHA-256.
  challenge_hash bytea primary key,
  expires_at timestamptz not null
);

-- Failed attempts to sign in.
create table sign_in_limits (
  -- SHA-256 of an email, whether or not it belongs to an account: a refusal must not reveal that.
  email_hash bytea not null,
  -- What is guessed and from where: a network, a known device, or anywhere.
  scope text not null,
  attempts integer not null,
  since timestamptz not null default now(),
  locked_until timestamptz,
  primary key (email_hash, scope)
);

-- When each worker last finished a round of its work: `belfry doctor` recognizes a worker that fails every round by it.
-- Written every ten seconds; unlogged, because after a crash of PostgreSQL all workers start again.
create unlogged table worker_rounds (
  worker_id bigint primary key,
  finished_at timestamptz not null
);

-- A category groups events for the preferences of recipients. An event without one belongs to `general`, which every organization
-- has without a row.
create table categories (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  slug text not null,
  name text not null,
  description text not null default '',
  kind text not null default 'transactional' check (kind in ('required', 'transactional', 'promotional')),
  -- The defaults until the recipient chooses: for all channel types, and for some of them.
  default_on boolean not null default true,
  channel_defaults jsonb not null default '{}',
  -- The channel types that the recipient may choose between; null: all that the organization has.
  channels text[],
  quiet_hours text not null default 'respect' check (quiet_hours in ('respect', 'ignore')),
  -- Name and description by language.
  locales jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Whether Belfry records opens and clicks of emails in this category.
  track boolean not null default false,
  primary key (organization_id, id),
  unique (organization_id, slug)
);
-- A category that events belong to cannot be deleted: they would become transactional unnoticed.
alter table events add foreign key (organization_id, category_id) references categories (organization_id, id);

-- A row for each choice of a user. `scope` is `everything`, `category:news` or `event:shop/web/order-paid`: by name
-- and not by id, so that a choice is valid again when a deleted category or event is created again.
-- An empty channel type means all of them.
create table preferences (
  organization_id bigint not null,
  user_id bigint not null,
  scope text collate "C" not null,
  channel_type text collate "C" not null default '',
  enabled boolean not null,
  source text not null,
  changed_at timestamptz not null default now(),
  primary key (organization_id, user_id, scope, channel_type),
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);

-- All choices ever made, and how, for regulators. `enabled` is null if a choice was withdrawn.
create table preference_history (
  organization_id bigint not null,
  id bigint generated always as identity,
  user_id bigint not null,
  scope text not null,
  channel_type text not null,
  enabled boolean,
  source text not null,
  changed_by text not null,
  changed_at timestamptz not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index preference_history_by_user on preference_history (organization_id, user_id, id);

-- When a user was notified, as long as it counts for a throttle. A worker locks the row before it decides. Without foreign keys: a
-- user who is deleted meanwhile must not fail the others of a batch. Notification 0 is everything of the organization.
create table throttle_uses (
  organization_id bigint not null,
  notification_id bigint not null,
  user_id bigint not null,
  key text collate "C" not null,
  times timestamptz[] not null default '{}',
  expires_at timestamptz not null,
  primary key (organization_id, notification_id, user_id, key)
) with (fillfactor = 70);
create index throttle_uses_by_age on throttle_uses (expires_at);

-- A digest from its first item until its message has an outcome. Adding, removing and sending items locks the row first, so that each
-- item is in exactly one digest. Without foreign keys, as above. `recipient_id` is the user, or 0 if the channel is a room.
create table digests (
  organization_id bigint not null,
  id uuid not null,
  event_id bigint not null,
  notification_id bigint not null,
  channel_id bigint not null,
  recipient_id bigint not null,
  user_id bigint not null,
  address text collate "C" not null,
  key text collate "C" not null,
  items integer not null,
  opened_at timestamptz not null default now(),
  closes_at timestamptz not null,
  -- When its message was first rendered: nothing is added any more.
  closed_at timestamptz,
  primary key (organization_id, id)
) with (fillfactor = 70);
create unique index digests_open on digests (organization_id, notification_id, channel_id, recipient_id, address, key)
  where closed_at is null;
create index digests_by_event on digests (organization_id, event_id, id) where closed_at is null;
-- Windows without items, after a first message that was sent immediately.
create index digests_empty on digests (closes_at) where items = 0;

-- Runs of steps: due, claimed by `owner`, advanced a page of recipients at a time. The next run is stored in the transaction that ends
-- the previous one, so that none is skipped or repeated.
create table steps (
  organization_id bigint not null references organizations (id) on delete cascade,
  occurrence_id uuid not null,
  notification_id bigint not null,
  -- The number of the run, from 1; -1: the message that the occurrence is resolved.
  number smallint not null,
  -- The number of the step in the notification, from 1.
  step smallint not null,
  status text not null default 'waiting',
  reason text,
  priority smallint not null,
  due_at timestamptz not null,
  -- When the escalation began: nothing of it happens later than `give_up_after` from here.
  began_at timestamptz not null,
  owner bigint,
  cursor jsonb,
  messages integer not null default 0,
  suppressed integer not null default 0,
  crashes smallint not null default 0,
  ended_at timestamptz,
  primary key (organization_id, occurrence_id, notification_id, number)
) with (fillfactor = 70);
create index steps_due on steps (priority, organization_id, due_at) where status = 'waiting' and owner is null;
create index steps_owned on steps (owner) where status = 'waiting' and owner is not null;

-- Which open occurrence of an event the triggers of one key join.
create table dedup_keys (
  organization_id bigint not null references organizations (id) on delete cascade,
  event_id bigint not null,
  key text collate "C" not null,
  occurrence_id uuid not null,
  -- Later triggers open another one.
  closes_at timestamptz not null,
  primary key (organization_id, event_id, key)
) with (fillfactor = 70);
create index dedup_keys_by_age on dedup_keys (closes_at);

-- A row for each user who ever got a message. Changing messages locks it first, so that numbers become visible in their order,
-- without deadlocks.
create table inboxes (
  organization_id bigint not null,
  user_id bigint not null,
  sequence bigint not null default 0,
  -- Kept by triggers.
  unread integer not null default 0,
  unseen integer not null default 0,
  primary key (organization_id, user_id),
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
) with (fillfactor = 70);

-- Operational webhooks: signed HTTP requests about messages to the organization's own endpoints.
create table webhooks (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  slug text not null,
  name text not null,
  url text not null,
  -- The event types that it subscribes to.
  types text[] not null,
  enabled boolean not null default true,
  -- Set by Belfry if it has failed for too long, or responded that it is gone.
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('failing', 'gone')),
  -- Encrypted: the secret, and the previous one, which signs too until `previous_until`.
  secrets bytea not null,
  previous_until timestamptz,
  active boolean not null generated always as (enabled and disabled_at is null) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Whether it receives the events of all organizations. Only the operator can set it.
  instance_wide boolean not null default false,
  primary key (organization_id, id),
  unique (organization_id, slug)
);
-- Every statement that settles deliveries looks here: an empty index costs next to nothing.
create index webhooks_active on webhooks (organization_id) where active;
create index webhooks_instance_wide on webhooks (organization_id, id) where active and instance_wide;

-- The state of an endpoint, apart from its settings, whose changes are announced to all processes. Claiming messages of an endpoint
-- locks this row, so that rate and concurrency are limited across all workers.
create table webhook_states (
  organization_id bigint not null,
  webhook_id bigint not null,
  tokens double precision not null default 0,
  tokens_at timestamptz not null default 'epoch',
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_failure text,
  -- When the current series of failures began; null: the last attempt succeeded.
  failing_since timestamptz,
  primary key (organization_id, webhook_id),
  foreign key (organization_id, webhook_id) references webhooks (organization_id, id) on delete cascade
);

-- The queue of webhook messages, a row for each endpoint and event. Without a foreign key: an endpoint that is deleted meanwhile must
-- not fail the outcomes of deliveries.
create table webhook_messages (
  organization_id bigint not null,
  webhook_id bigint not null,
  id bigint generated always as identity,
  -- The id for receivers, the same for every attempt.
  key uuid not null default gen_random_uuid(),
  type text not null,
  data jsonb not null,
  status text not null default 'waiting' check (status in ('waiting', 'sent', 'failed')),
  attempts smallint not null default 0,
  -- While it is being sent: when it is due again if its worker dies.
  due_at timestamptz not null default now(),
  claimed_at timestamptz,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  -- The last attempts: time, duration, result.
  log jsonb not null default '[]',
  primary key (organization_id, webhook_id, id)
);
create index webhook_messages_due on webhook_messages (organization_id, webhook_id, due_at) where status = 'waiting';
create index webhook_messages_claimed on webhook_messages (organization_id, webhook_id, claimed_at)
  where claimed_at is not null;
create index webhook_messages_by_status on webhook_messages (organization_id, webhook_id, status, id);
create index webhook_messages_by_age on webhook_messages (organization_id, created_at);

-- Channels for which `channel.unhealthy` was sent, until `channel.recovered` is.
create table channel_outages (
  organization_id bigint not null,
  channel_id bigint not null,
  since timestamptz not null default now(),
  primary key (organization_id, channel_id),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);

-- The identity of this database. A restored or cloned one differs, and then nothing is sent until an operator decides which of the
-- two is the original. The first process that serves creates the only row. It has no primary key on purpose: tools that
-- rewrite tables, such as pg_repack, skip tables without one, and a rewritten row would look like a restored one.
create table instance (
  -- The transaction that wrote this row. A dump restores this number, but not the row's xmin.
  xid bigint not null,
  -- The oid of this table and of the database; and the server's identifier, if it is readable.
  relation bigint not null,
  database bigint not null,
  system text,
  server_major integer not null,
  -- Incremented when a standby or a restored server takes over.
  timeline bigint,
  -- Host, port and name by which processes have connected.
  addresses text[] not null default '{}',
  -- BELFRY_INSTANCE.
  name text,
  -- When the files of the embedded database were created.
  files_made_at timestamptz,
  -- When a process last used this database.
  seen_at timestamptz not null default now(),
  -- Later triggers were accepted here, not restored.
  paused_at timestamptz,
  paused_reason text,
  -- Where the server that started last is reached, for links that commands print. Null: no server has recorded it. Empty: it does not
  -- know its address, because it listens on other interfaces than loopback and BASE_URL is not set.
  served_url text
);
create unique index instance_once on instance ((true));

-- Users who are registered with an application, with its custom fields.
create table registrations (
  organization_id bigint not null,
  application_id bigint not null,
  user_id bigint not null,
  active boolean not null default true,
  custom_fields jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, application_id, user_id),
  foreign key (organization_id, application_id) references applications (organization_id, id) on delete cascade,
  foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index registrations_by_user on registrations (organization_id, user_id);

-- The suppression list: addresses, and whole email domains, to which an organization sends nothing.
create table suppressions (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  channel_type text not null,
  -- An address as it is compared (core/suppressions.ts), or `@` and a domain. "C", so that the unique index finds prefixes.
  target text collate "C" not null,
  reason text not null check (reason in ('bounced', 'complained', 'unsubscribed', 'manual')),
  -- `manual`, `import` or the name of a provider.
  source text not null,
  -- The provider's own words.
  detail text,
  since timestamptz not null default now(),
  expires_at timestamptz,
  -- The reported event that caused the entry, if one did.
  feedback_id text,
  -- What a channel of a project reports does not stop the messages of other projects.
  projects bigint[],
  primary key (organization_id, id),
  unique (organization_id, target, channel_type)
);
create index suppressions_by_type on suppressions (organization_id, channel_type, id);
create index suppressions_by_reason on suppressions (organization_id, reason, id);
create index suppressions_expiring on suppressions (expires_at) where expires_at is not null;

-- What became of messages after a provider accepted them, as reported by services and mail servers. Partitioned by month like
-- the deliveries, and dropped together with them.
create table feedback (
  organization_id bigint not null,
  occurrence_id uuid not null,
  delivery_id bigint not null,
  -- A hash of what makes the event this event, so that it is stored once however often it is sent.
  key uuid not null,
  -- When it was received, as UUIDv7: the order of lists.
  id uuid not null,
  -- The name of the service, or `smtp` for a mail.
  source text not null,
  type text not null check ( type in ('delivered', 'bounced', 'deferred', 'complained', 'unsubscribed', 'opened', 'clicked')),
  -- Null unless it bounced or was deferred.
  permanent boolean,
  reason text,
  -- The reporter's own words.
  detail text,
  -- The address that the message was sent to; the reporter may name another one, which it was forwarded to.
  address text,
  recipient text,
  -- When it happened, according to the reporter.
  at timestamptz not null,
  primary key (organization_id, occurrence_id, delivery_id, key)
) partition by range (occurrence_id);
create index feedback_by_type on feedback (organization_id, type, id);
-- For repeated temporary bounces of an address.
create index feedback_by_address on feedback (organization_id, address, at) where type in ('bounced', 'delivered');
create table feedback_rest partition of feedback default;

-- Events about messages that were not found. Kept for 30 days, and looked up again for an hour: a service can be faster than
-- the engine, which stores the id of a message after the provider's response.
create table feedback_unmatched (
  organization_id bigint not null references organizations on delete cascade,
  key uuid not null,
  id uuid not null,
  source text not null,
  type text not null,
  permanent boolean,
  reason text,
  detail text,
  recipient text,
  -- The ids that the reporter named: its own, and Belfry's.
  message_id text,
  delivery_ref text,
  at timestamptz not null,
  -- Feedback counts for the channel that received it, and for what is sent from the same domain by channels of the same owner.
  -- Null: a signed return path has named the delivery.
  channels bigint[],
  primary key (organization_id, key)
);
create index feedback_unmatched_by_time on feedback_unmatched (organization_id, id);

-- When services last reported something. Apart from the channel, whose changes every process is notified of.
create table channel_feedback (
  organization_id bigint not null,
  channel_id bigint not null,
  last_received_at timestamptz,
  last_refused_at timestamptz,
  -- Why the last request was refused.
  last_refusal text,
  primary key (organization_id, channel_id),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);

-- Messages that were reported, by the hour of the report. Messages sent are counted in delivery_stats.
create table channel_reputation (
  organization_id bigint not null,
  channel_id bigint not null,
  hour timestamptz not null,
  -- Permanently.
  bounced integer not null default 0,
  -- No limit counts these, but their messages were sent too.
  bounced_temporarily integer not null default 0,
  complained integer not null default 0,
  primary key (organization_id, channel_id, hour),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);

-- How many messages each provider with a limit per day has sent on the current day, over all workers.
create table provider_days (
  organization_id bigint not null,
  channel_id bigint not null,
  -- Name of the provider; the second one of the same name in a channel is `smtp#2`.
  provider text not null,
  -- The start, in UTC, of the last day on which it sent something, and how many messages were reserved on that day.
  day timestamptz not null,
  used integer not null,
  -- A warm-up starts with the first day.
  first_day timestamptz not null,
  -- How many messages the last reservation got.
  granted integer not null,
  primary key (organization_id, channel_id, provider),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);

-- Mailboxes that are polled for bounce mails, one row for each mailbox in the settings of a channel.
create table feedback_mailboxes (
  organization_id bigint not null,
  channel_id bigint not null,
  -- Its name from the settings: other settings are another mailbox, which is read from its start.
  mailbox text not null,
  -- When it is polled next. Polling moves it into the near future first, so that no other process polls it meanwhile, and a
  -- process that dies needs no recovery.
  due_at timestamptz not null default now(),
  -- Messages up to this UID have been read. UIDs are valid together with the number that the server gave the mailbox.
  uid_validity bigint,
  last_uid bigint not null default 0,
  -- When it was last read, or why it could not be.
  checked_at timestamptz,
  failed_at timestamptz,
  error text,
  primary key (organization_id, channel_id, mailbox),
  foreign key (organization_id, channel_id) references channels (organization_id, id) on delete cascade
);
create index feedback_mailboxes_by_due on feedback_mailboxes (due_at);

-- Updates of messages that were already sent, because their occurrence was acknowledged, resolved or cancelled: the queue, and
-- the record of what became of each. The row with delivery_id 0 is the occurrence itself, whose deliveries have yet to be
-- listed; it is deleted when all are.
create table message_updates (
  organization_id bigint not null references organizations (id) on delete cascade,
  occurrence_id uuid not null,
  delivery_id bigint not null,
  -- What happened to the occurrence; a later change replaces an earlier one.
  change text not null check (change in ('acknowledged', 'resolved', 'cancelled')),
  changed_by text,
  changed_at timestamptz not null,
  status text not null default 'waiting' check (status in ('waiting', 'done', 'failed')),
  due_at timestamptz not null default now(),
  -- Whether a worker is at it: until due_at, unless it dies.
  claimed boolean not null default false,
  -- Counts the claims: only the outcome of the last one is stored.
  claims integer not null default 0,
  -- Attempts for this change.
  attempts smallint not null default 0,
  -- The last delivery that was listed.
  cursor bigint not null default 0,
  -- What was done, oldest first.
  log jsonb not null default '[]',
  primary key (organization_id, occurrence_id, delivery_id)
);
create index message_updates_by_due on message_updates (organization_id, due_at) where status = 'waiting';

-- Files that messages carry: uploaded before a trigger, or fetched from a URL before the first message is sent. A file is
-- stored once for all deliveries of an occurrence.
create table attachments (
  organization_id bigint not null references organizations on delete cascade,
  id uuid not null,
  name text not null,
  content_type text not null,
  bytes integer not null,
  content bytea not null,
  created_at timestamptz not null default now(),
  -- When an upload that no trigger has used is deleted. Null: an occurrence uses it.
  expires_at timestamptz,
  primary key (organization_id, id)
);
alter table attachments alter column content set storage external;
create index attachments_by_expiry on attachments (organization_id, expires_at) where expires_at is not null;

-- Which files an occurrence uses. Occurrences are dropped with their partition, so there is no foreign key to them.
create table occurrence_attachments (
  organization_id bigint not null,
  occurrence_id uuid not null,
  -- The id of the upload, or the URL, as the trigger or the message names it.
  source text not null,
  attachment_id uuid not null,
  primary key (organization_id, occurrence_id, source),
  foreign key (organization_id, attachment_id) references attachments (organization_id, id) on delete cascade
);
create index occurrence_attachments_by_attachment on occurrence_attachments (organization_id, attachment_id);

-- An organization can move to another cell, a Belfry with its own database: see docs/guides/many-cells.md. This table has one
-- row for an organization that is moving, has left or has arrived; docs/architecture.md has the states. It has no foreign
-- key, because it outlives the organization here.
create table organization_moves (
  organization_id bigint primary key,
  -- Equal in both databases.
  id uuid not null,
  slug text not null,
  state text not null check (state in ('arriving', 'arrived', 'copying', 'draining', 'closing', 'frozen', 'moved', 'left')),
  -- The public URL of the cell that it moves to; null where it arrives.
  url text,
  -- At the target: the tables that are copied.
  copied text[] not null default '{}',
  -- Once it has left: the addresses of its channels for feedback, which lead to the new cell.
  feedback_tokens text[] not null default '{}',
  began_at timestamptz not null default now(),
  state_at timestamptz not null default now()
);

-- The rows that changed at the source since they were copied. Their triggers exist only during a move.
create table organization_changes (
  organization_id bigint not null,
  id bigint generated always as identity,
  table_name text not null,
  key jsonb not null,
  primary key (organization_id, id)
);

-- Signatures that say no time or do not cover the body, and buttons that trigger an event: each counts once.
create table received_signatures (
  organization_id bigint not null references organizations on delete cascade,
  channel_id bigint not null,
  signature uuid not null,
  body uuid not null,
  received_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (organization_id, channel_id, signature)
);
create index received_signatures_expiring on received_signatures (expires_at);
create index received_signatures_kept on received_signatures (organization_id, channel_id, received_at)
  where expires_at = 'infinity';

-- Occurrences that stopped early and whose remaining recipients a worker is counting, a page at a time. A count instead of a row
-- for each: a cancelled fan-out to a million costs no history.
create table unexpanded_counts (
  organization_id bigint not null references organizations (id) on delete cascade,
  occurrence_id uuid not null,
  -- The start of the next page, as in occurrences; null: the first recipient.
  cursor jsonb,
  counted integer not null default 0,
  -- Claims without a result since the last page: one that crashes workers is given up.
  claims smallint not null default 0,
  claimed_at timestamptz,
  primary key (organization_id, occurrence_id)
);

create table attachment_usage (
  organization_id bigint primary key references organizations on delete cascade,
  bytes bigint not null
);

-- Every process caches configuration and keys. A change announces the organization whose entries are invalid.
create function announce_change() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('belfry_changed', coalesce(changed ->> 'organization_id', changed ->> 'id'));
  return null;
end $$;
create trigger announce_change after insert or update or delete on organizations
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on projects
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on applications
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on events
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on channels
  for each row execute function announce_change();
-- Not last_used_at, which is not cached.
create trigger announce_change
  after insert or delete or update of name, secret_hash, project_id, application_id, permissions, requests_per_second,
    allowed_networks, expires_at, revoked_at
  on keys for each row execute function announce_change();
create trigger announce_change after insert or update or delete on notifications
  for each row execute function announce_change();
create trigger announce_change after insert on messages
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on layouts
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on categories
  for each row execute function announce_change();
create trigger announce_change after insert or update or delete on webhooks
  for each row execute function announce_change();

create function keep_user() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return new;
  end if;
  insert into user_history (
    organization_id, user_id, version, username, email, first_name, last_name, locked, locale, custom_fields, timezone,
    memberships)
  values (
    old.organization_id, old.id, old.version, old.username, old.email, old.first_name, old.last_name, old.locked,
    old.locale, old.custom_fields, old.timezone, old.memberships);
  new.version := old.version + 1;
  return new;
end $$;
create trigger keep_user before update on users
  for each row when (
    old.username is distinct from new.username or old.email is distinct from new.email or
    old.first_name is distinct from new.first_name or old.last_name is distinct from new.last_name or
    old.locked is distinct from new.locked or old.locale is distinct from new.locale or
    old.custom_fields is distinct from new.custom_fields or old.timezone is distinct from new.timezone or
    old.memberships is distinct from new.memberships)
  execute function keep_user();

-- Sessions are cached with the permissions of their account. Changes are announced to all processes.
create function announce_account() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('belfry_changed', 'account ' || coalesce(changed ->> 'account_id', changed ->> 'id'));
  return null;
end $$;
create trigger announce_account after update of email, name, password_hash, admin, totp_secret or delete on accounts
  for each row execute function announce_account();
create trigger announce_account after insert or update or delete on memberships
  for each row execute function announce_account();
create trigger announce_account after delete on sessions
  for each row execute function announce_account();
create trigger announce_account after insert or delete on passkeys
  for each row execute function announce_account();

-- Once per statement. Lists are locked in the order of their ids, to prevent deadlocks. While an organization is being deleted, the
-- counts are not updated: a list would be rewritten for each of its members.
create function count_members() returns trigger language plpgsql as $$
declare
  change record;
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  for change in execute case tg_op
    when 'INSERT' then 'select organization_id, list_id, count(*) as members, count(*) filter (where active) as active
      from added group by 1, 2 order by 1, 2'
    when 'DELETE' then 'select organization_id, list_id, -count(*) as members, -count(*) filter (where active) as active
      from removed group by 1, 2 order by 1, 2'
    else 'select organization_id, list_id, sum(n) as members, sum(n) filter (where active) as active
      from (select organization_id, list_id, active, 1 as n from added
        union all select organization_id, list_id, active, -1 from removed) both_of_them
      group by 1, 2 order by 1, 2'
  end loop
    update distribution_lists set members = members + change.members,
      active_members = active_members + coalesce(change.active, 0)
    where organization_id = change.organization_id and id = change.list_id
      and exists (select from organizations where organizations.id = change.organization_id);
  end loop;
  return null;
end $$;
create trigger count_added after insert on members
  referencing new table as added for each statement execute function count_members();
create trigger count_removed after delete on members
  referencing old table as removed for each statement execute function count_members();
create trigger count_changed after update on members
  referencing old table as removed new table as added for each statement execute function count_members();

-- Locked before they are read: each statement of this function sees what was committed before it, so that of two choices
-- made at once none is left out.
create function keep_choices() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  perform from users u
  where (u.organization_id, u.id) in (select c.organization_id, c.user_id from changed c)
  order by u.organization_id, u.id
  for no key update;
  update users u set chosen = made.choices, choices = made.choices::jsonb
  from (
    select c.organization_id, c.user_id, (
      select json_object_agg(
        case p.channel_type when '' then p.scope else p.scope || ' ' || p.channel_type end,
        json_build_object('on', p.enabled, 'source', p.source, 'at', p.changed_at))
      from preferences p where p.organization_id = c.organization_id and p.user_id = c.user_id
    ) as choices
    from (select distinct organization_id, user_id from changed) c
  ) made
  where u.organization_id = made.organization_id and u.id = made.user_id;
  return null;
end $$;
create trigger choices_added after insert on preferences referencing new table as changed
  for each statement execute function keep_choices();
create trigger choices_changed after update on preferences referencing new table as changed
  for each statement execute function keep_choices();
create trigger choices_removed after delete on preferences referencing old table as changed
  for each statement execute function keep_choices();

-- The following triggers keep derived columns, which are copied along with everything else.
create function count_added_to_inbox() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  insert into inboxes as i (organization_id, user_id, unread, unseen)
  select organization_id, user_id,
    count(*) filter (where archived_at is null and read_at is null),
    count(*) filter (where archived_at is null and read_at is null and seen_at is null)
  from added group by 1, 2 order by 1, 2
  on conflict (organization_id, user_id) do update
    set unread = i.unread + excluded.unread, unseen = i.unseen + excluded.unseen;
  return null;
end $$;
create trigger count_added after insert on inbox
  referencing new table as added for each statement execute function count_added_to_inbox();

create function count_changed_in_inbox() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  update inboxes i set unread = i.unread + d.unread, unseen = i.unseen + d.unseen
  from (
    select organization_id, user_id, sum(unread) as unread, sum(unseen) as unseen
    from (
      select organization_id, user_id, (archived_at is null and read_at is null)::int as unread,
        (archived_at is null and read_at is null and seen_at is null)::int as unseen
      from added
      union all
      select organization_id, user_id, -(archived_at is null and read_at is null)::int,
        -(archived_at is null and read_at is null and seen_at is null)::int
      from removed
    ) changed
    group by 1, 2
  ) d
  where i.organization_id = d.organization_id and i.user_id = d.user_id and (d.unread <> 0 or d.unseen <> 0);
  return null;
end $$;
create trigger count_changed after update on inbox
  referencing old table as removed new table as added for each statement execute function count_changed_in_inbox();

create function count_removed_from_inbox() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  update inboxes i set unread = i.unread - d.unread, unseen = i.unseen - d.unseen
  from (
    select organization_id, user_id,
      count(*) filter (where archived_at is null and read_at is null) as unread,
      count(*) filter (where archived_at is null and read_at is null and seen_at is null) as unseen
    from removed group by 1, 2
  ) d
  where i.organization_id = d.organization_id and i.user_id = d.user_id and (d.unread <> 0 or d.unseen <> 0);
  return null;
end $$;
create trigger count_removed after delete on inbox
  referencing old table as removed for each statement execute function count_removed_from_inbox();

-- Locked before they are read, as in `keep_choices`: so that of two applications that register a user at once none is left out.
create function keep_memberships() returns trigger language plpgsql as $$
begin
  if current_setting('belfry.copying', true) = 'on' then
    return null;
  end if;
  perform from users u
  where (u.organization_id, u.id) in (select c.organization_id, c.user_id from changed c)
  order by u.organization_id, u.id
  for no key update;
  update users u set memberships = made.memberships
  from (
    select c.organization_id, c.user_id, (
      select jsonb_object_agg(r.application_id, r.custom_fields)
      from registrations r where r.organization_id = c.organization_id and r.user_id = c.user_id
    ) as memberships
    from (select distinct organization_id, user_id from changed) c
  ) made
  where u.organization_id = made.organization_id and u.id = made.user_id
    and u.memberships is distinct from made.memberships;
  return null;
end $$;
create trigger memberships_added after insert on registrations referencing new table as changed
  for each statement execute function keep_memberships();
create trigger memberships_changed after update on registrations referencing new table as changed
  for each statement execute function keep_memberships();
create trigger memberships_removed after delete on registrations referencing old table as changed
  for each statement execute function keep_memberships();

-- Workers check a message against memory right before it is sent, and read its recipient again only after such an announcement.
-- Only changes that can stop a message are announced: a user who was locked, opted out, changed the quiet hours, lost an address
-- or was deleted. Cancelling, acknowledging and resolving announce the occurrence themselves.
create function announce_stop() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform pg_notify('belfry_stop', organization_id::text) from (select distinct organization_id from gone) organizations;
  else
    perform pg_notify('belfry_stop', new.organization_id::text);
  end if;
  return null;
end $$;
create trigger announce_stop after update on users for each row
  when ((old.locked, old.choices, old.quiet_hours, old.timezone)
    is distinct from (new.locked, new.choices, new.quiet_hours, new.timezone))
  execute function announce_stop();
create trigger announce_stop_deleted after delete on users referencing old table as gone
  for each statement execute function announce_stop();
create trigger announce_stop after update on addresses for each row
  when ((old.value, old.disabled_at) is distinct from (new.value, new.disabled_at))
  execute function announce_stop();
create trigger announce_stop_deleted after delete on addresses referencing old table as gone
  for each statement execute function announce_stop();

-- The plans are invalidated first (the update announces the change of the organization), and then messages that are about to
-- be sent are checked again.
create function announce_suppression() returns trigger language plpgsql as $$
begin
  update organizations set suppresses = true
    where id in (select organization_id from added) and not suppresses;
  perform pg_notify('belfry_stop', organization_id::text) from (select distinct organization_id from added) organizations;
  return null;
end $$;
create trigger announce_suppression after insert on suppressions referencing new table as added
  for each statement execute function announce_suppression();
create trigger announce_suppression_extended after update on suppressions referencing new table as added
  for each statement execute function announce_suppression();

create function announce_move() returns trigger language plpgsql as $$
begin
  perform pg_notify('belfry_changed', 'moves');
  perform pg_notify('belfry_changed', coalesce(new.organization_id, old.organization_id)::text);
  if new.state = 'moved' then
    -- Inbox streams end, so that clients connect to the other cell.
    perform pg_notify('belfry_inbox', 'left ' || new.organization_id);
  end if;
  return null;
end $$;
create trigger announce_move after insert or delete or update of state on organization_moves
  for each row execute function announce_move();

-- Notes the change of a row of an organization that is being copied, and refuses it once the organization is frozen. The
-- arguments are the table, whose name differs from that of a partition, and the columns of its primary key.
create function note_moving_change() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  organization bigint := coalesce(changed ->> 'organization_id', changed ->> 'id');
  current text := (select state from organization_moves where organization_id = organization);
begin
  if current in ('frozen', 'moved') then
    raise exception 'organization % is moving to another cell', organization using errcode = 'BLF01';
  end if;
  insert into organization_changes (organization_id, table_name, key)
  select organization, tg_argv[0], jsonb_object_agg(name, changed -> name)
  from unnest(tg_argv) with ordinality as arguments (name, position) where position > 1;
  return null;
end $$;

-- The outcome names what deserves attention most: see the table in docs/architecture.md. It is `partly_failed` only if something
-- failed, and `sent` only if nothing was stopped by a cancellation or expired.
create function occurrence_outcome(o occurrences) returns text language plpgsql immutable as $$
begin
  return case
    when o.resolved_at is not null then 'resolved'
    when o.acknowledged_at is not null then 'acknowledged'
    when o.status in ('accepted', 'expanding') then
      case
        when o.due_at = 'infinity' then 'held'
        when o.status = 'expanding' then 'expanding'
        when o.due_at > o.created_at then 'scheduled'
      end
    when o.status = 'sending' then case when o.escalating > 0 then 'escalating' else 'sending' end
    when o.awaits_acknowledgement then 'unacknowledged'
    when o.failed > 0 or o.reason = 'crashed' then
      case when o.sent + o.unknown > 0 then 'partly_failed' else 'failed' end
    when o.unknown > 0 then 'unknown'
    when o.reason = 'cancelled' or (o.cancelled > 0 and (o.sent = 0 or o.cancelled_at is not null)) then 'cancelled'
    when o.expired > 0 or o.reason = 'expired' then 'expired'
    when o.sent > 0 then 'sent'
    when o.suppressed = 0 and (o.reason is null or o.reason in ('no_recipients', 'occurrence.not_open')
      or starts_with(o.reason, 'limit.')) then 'no_recipients'
    else 'suppressed'
  end;
end $$;

create function keep_occurrence_outcome() returns trigger language plpgsql as $$
begin
  new.outcome := occurrence_outcome(new);
  return new;
end $$;
-- One that is due at once has no outcome yet.
create trigger occurrence_stored before insert on occurrences for each row
  when (new.status <> 'accepted' or new.due_at <> new.created_at)
  execute function keep_occurrence_outcome();
create trigger occurrence_changed before update on occurrences for each row
  when (new.outcome is not distinct from old.outcome)
  execute function keep_occurrence_outcome();

-- Announces the users whose recipient tokens end: their tokens were revoked, or they were locked or deleted. Processes keep
-- the holders of tokens in memory, and end what a token has opened.
create function announce_user() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    perform pg_notify('belfry_changed', 'user ' || new.id);
  elsif (select count(*) from (select from gone limit 101) first) > 100 then
    perform pg_notify('belfry_changed', organization_id::text)
      from (select distinct organization_id from gone) organizations;
  else
    perform pg_notify('belfry_changed', 'user ' || id) from gone;
  end if;
  return null;
end $$;
create trigger announce_user after update of locked, link_generation, username on users for each row
  when ((old.locked, old.link_generation, old.username) is distinct from (new.locked, new.link_generation, new.username))
  execute function announce_user();
create trigger announce_user_deleted after delete on users referencing old table as gone
  for each statement execute function announce_user();

create function count_attachments() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into attachment_usage as u (organization_id, bytes)
    select organization_id, sum(bytes) from changed group by 1 order by 1
    on conflict (organization_id) do update set bytes = u.bytes + excluded.bytes;
  else
    -- No insert: the organization may be what is deleted.
    update attachment_usage u set bytes = u.bytes - gone.bytes
    from (select organization_id, sum(bytes) as bytes from changed group by 1) gone
    where u.organization_id = gone.organization_id;
  end if;
  return null;
end $$;
create trigger count_added after insert on attachments referencing new table as changed
  for each statement execute function count_attachments();
create trigger count_removed after delete on attachments referencing old table as changed
  for each statement execute function count_attachments();

-- What each index of the ledger is for. Every one costs an entry for each message, or for each change of it.
comment on index occurrences_by_correlation is 'lists of occurrences with a correlation id';
comment on index occurrences_by_outcome is 'lists of occurrences with an outcome, and the overview';
comment on index occurrences_continued is 'claims of further pages of a fan-out';
comment on index occurrences_due is 'claims of accepted occurrences';
comment on index occurrences_expanding is 'recovery of what a dead worker was expanding';
comment on index occurrences_held is 'release when a pause ends';
comment on index occurrences_unacknowledged is 'the board of escalations';
comment on index deliveries_by_provider_id is 'feedback of services that report only their own id';
comment on index deliveries_by_user is 'the history of a user';
comment on index deliveries_due is 'claims of pending deliveries and retries';
comment on index deliveries_failed is 'failures by cause, and replays';
comment on index deliveries_held is 'release when a pause ends';
comment on index deliveries_of_digest is 'items of a digest';
comment on index deliveries_of_steps is 'who was notified by earlier steps';
comment on index deliveries_once is 'no second delivery when a page is stored again';
comment on index deliveries_sandboxed is 'messages in the sandbox';
comment on index deliveries_sending is 'recovery of what a dead worker was sending';
comment on index deliveries_suppressed is 'counts of suppressed deliveries by reason';
comment on column feedback_unmatched.channels is 'the channels whose deliveries the event may be about; null: any';
comment on column suppressions.projects is 'the projects whose channels send nothing to the target; null: all channels';
comment on table received_signatures is 'hashes of accepted signatures, so that a repeated request is recognized';
