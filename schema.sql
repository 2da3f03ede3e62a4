-- Generated from migrations/ by npm run generate, for reading. The migrations explain the reasons.

CREATE SEQUENCE delivery_ids;
CREATE SEQUENCE worker_ids;

CREATE TABLE organizations (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  slug text NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  retention_days integer NOT NULL DEFAULT 90,
  two_factor_required boolean NOT NULL DEFAULT false,
  triggers_per_second integer DEFAULT 20000,
  deliveries_per_trigger integer DEFAULT 5000000,
  users_limit integer DEFAULT 5000000,
  stored_messages_limit bigint DEFAULT 200000000,
  max_key_lifetime_days integer,
  brand_color text,
  logo_url text,
  timezone text,
  quiet_hours jsonb,
  max_per_day integer,
  suppresses boolean NOT NULL DEFAULT false,
  attachment_bytes_limit bigint DEFAULT '21474836480'::bigint,
  paused_at timestamptz,
  paused_reason text,
  CONSTRAINT organizations_pkey PRIMARY KEY (id),
  CONSTRAINT organizations_slug_key UNIQUE (slug),
  CONSTRAINT organizations_attachment_bytes_limit_check CHECK (attachment_bytes_limit > 0),
  CONSTRAINT organizations_deliveries_per_trigger_check CHECK (deliveries_per_trigger > 0),
  CONSTRAINT organizations_max_key_lifetime_days_check CHECK (max_key_lifetime_days > 0),
  CONSTRAINT organizations_max_per_day_check CHECK (max_per_day > 0),
  CONSTRAINT organizations_stored_messages_limit_check CHECK (stored_messages_limit > 0),
  CONSTRAINT organizations_triggers_per_second_check CHECK (triggers_per_second > 0),
  CONSTRAINT organizations_users_limit_check CHECK (users_limit > 0)
);

CREATE TABLE projects (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  slug text NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  paused_at timestamptz,
  paused_reason text,
  CONSTRAINT projects_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT projects_organization_id_slug_key UNIQUE (organization_id, slug),
  CONSTRAINT projects_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE applications (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  project_id bigint NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  paused_at timestamptz,
  paused_reason text,
  CONSTRAINT applications_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT applications_organization_id_project_id_slug_key UNIQUE (organization_id, project_id, slug),
  CONSTRAINT applications_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE events (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  application_id bigint NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  active boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  paused_at timestamptz,
  category_id bigint,
  context_schema json,
  paused_reason text,
  CONSTRAINT events_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT events_organization_id_application_id_slug_key UNIQUE (organization_id, application_id, slug),
  CONSTRAINT events_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT events_organization_id_category_id_fkey FOREIGN KEY (organization_id, category_id) REFERENCES categories(organization_id, id)
);
CREATE INDEX events_by_category ON events (organization_id, category_id) WHERE category_id IS NOT NULL;

CREATE TABLE channels (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  project_id bigint,
  slug text NOT NULL,
  name text NOT NULL,
  type text NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  providers jsonb NOT NULL DEFAULT '[]',
  secrets bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  paused_at timestamptz,
  on_unknown text NOT NULL DEFAULT 'resend',
  rate_per_second integer,
  concurrency integer,
  feedback_token text NOT NULL DEFAULT replace(((gen_random_uuid())::text || (gen_random_uuid())::text), '-', ''),
  reputation_guard boolean NOT NULL DEFAULT true,
  max_bounce_percent double precision NOT NULL DEFAULT 5,
  max_complaint_percent double precision NOT NULL DEFAULT 0.3,
  bulk_paused_at timestamptz,
  bulk_paused_reason text,
  reputation_since timestamptz,
  sent_before_since bigint NOT NULL DEFAULT 0,
  paused_reason text,
  retry jsonb,
  CONSTRAINT channels_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT channels_organization_id_project_id_slug_key UNIQUE NULLS NOT DISTINCT (organization_id, project_id, slug),
  CONSTRAINT channels_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT channels_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX channels_bulk_paused ON channels (organization_id) WHERE bulk_paused_at IS NOT NULL;
CREATE INDEX channels_by_feedback_token ON channels (feedback_token);

CREATE TABLE users (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  username text COLLATE "C" NOT NULL,
  email text NOT NULL,
  first_name text NOT NULL DEFAULT '',
  last_name text NOT NULL DEFAULT '',
  locked boolean NOT NULL DEFAULT false,
  custom_fields jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  locale text,
  version integer NOT NULL DEFAULT 1,
  first_key text COLLATE "C" NOT NULL DEFAULT '',
  last_key text COLLATE "C" NOT NULL DEFAULT '',
  choices jsonb,
  link_generation integer NOT NULL DEFAULT 0,
  timezone text,
  quiet_hours jsonb,
  memberships jsonb,
  chosen json,
  CONSTRAINT users_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT users_organization_id_username_key UNIQUE (organization_id, username),
  CONSTRAINT users_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX users_by_first_name ON users (organization_id, first_key, last_key, id);
CREATE INDEX users_by_last_name ON users (organization_id, last_key, first_key, id);
CREATE INDEX users_by_name ON users (organization_id, natural_key(first_key, last_key, username), id);
CREATE INDEX users_locked ON users (organization_id, natural_key(first_key, last_key, username), id) WHERE locked;

CREATE TABLE addresses (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  user_id bigint NOT NULL,
  name text NOT NULL,
  value text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  disabled_at timestamptz,
  disabled_reason text,
  CONSTRAINT addresses_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT addresses_organization_id_user_id_name_value_key UNIQUE (organization_id, user_id, name, value),
  CONSTRAINT addresses_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX addresses_by_value ON addresses (organization_id, value) WHERE name <> 'email';
CREATE INDEX addresses_disabled ON addresses (organization_id) WHERE disabled_at IS NOT NULL;

CREATE TABLE distribution_lists (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  project_id bigint NOT NULL,
  name text NOT NULL,
  name_key text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  members integer NOT NULL DEFAULT 0,
  active_members integer NOT NULL DEFAULT 0,
  CONSTRAINT distribution_lists_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT distribution_lists_organization_id_project_id_name_key_key UNIQUE (organization_id, project_id, name_key),
  CONSTRAINT distribution_lists_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE members (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  list_id bigint NOT NULL,
  address_id bigint NOT NULL,
  active boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT members_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT members_organization_id_list_id_address_id_key UNIQUE (organization_id, list_id, address_id),
  CONSTRAINT members_organization_id_address_id_fkey FOREIGN KEY (organization_id, address_id) REFERENCES addresses(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT members_organization_id_list_id_fkey FOREIGN KEY (organization_id, list_id) REFERENCES distribution_lists(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX members_by_address ON members (organization_id, address_id);
CREATE INDEX members_by_list ON members (organization_id, list_id, id);

CREATE TABLE keys (
  organization_id bigint NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  secret_hash bytea NOT NULL,
  project_id bigint,
  application_id bigint,
  permissions text[] NOT NULL,
  requests_per_second integer,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  allowed_networks text[],
  rate_group text,
  paused_at timestamptz,
  paused_reason text,
  CONSTRAINT keys_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT keys_organization_id_name_key UNIQUE (organization_id, name),
  CONSTRAINT keys_allowed_networks_check CHECK (cardinality(allowed_networks) > 0),
  CONSTRAINT keys_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT keys_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX keys_by_id ON keys (id);

CREATE TABLE notifications (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  event_id bigint NOT NULL,
  name text NOT NULL,
  active boolean NOT NULL DEFAULT true,
  recipients jsonb NOT NULL,
  channels text[] NOT NULL,
  filter text,
  environs text[],
  extra_context jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  priority smallint,
  throttle jsonb,
  digest jsonb,
  steps jsonb,
  give_up_after text,
  notify_resolved boolean NOT NULL DEFAULT false,
  CONSTRAINT notifications_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT notifications_organization_id_event_id_name_key UNIQUE (organization_id, event_id, name),
  CONSTRAINT notifications_organization_id_event_id_fkey FOREIGN KEY (organization_id, event_id) REFERENCES events(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE messages (
  organization_id bigint NOT NULL,
  notification_id bigint NOT NULL,
  version integer NOT NULL,
  content jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text,
  CONSTRAINT messages_pkey PRIMARY KEY (organization_id, notification_id, version),
  CONSTRAINT messages_organization_id_notification_id_fkey FOREIGN KEY (organization_id, notification_id) REFERENCES notifications(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE occurrences (
  organization_id bigint NOT NULL,
  id uuid NOT NULL,
  project_id bigint NOT NULL,
  application_id bigint NOT NULL,
  event_id bigint NOT NULL,
  status text NOT NULL DEFAULT 'accepted',
  priority smallint NOT NULL DEFAULT 1,
  context jsonb NOT NULL,
  options jsonb NOT NULL,
  correlation_id text,
  key_id text,
  due_at timestamptz NOT NULL,
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  completed_at timestamptz,
  owner bigint,
  cursor jsonb,
  reason text,
  cancelled_at timestamptz,
  deliveries integer NOT NULL DEFAULT 0,
  sent integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  suppressed integer NOT NULL DEFAULT 0,
  cancelled integer NOT NULL DEFAULT 0,
  expired integer NOT NULL DEFAULT 0,
  unknown integer NOT NULL DEFAULT 0,
  crashes smallint NOT NULL DEFAULT 0,
  escalating smallint NOT NULL DEFAULT 0,
  awaits_acknowledgement boolean NOT NULL DEFAULT false,
  triggers integer NOT NULL DEFAULT 1,
  dedup_key text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  resolved_at timestamptz,
  resolved_by text,
  traceparent text,
  outcome text,
  unexpanded integer,
  cancelled_by text,
  CONSTRAINT occurrences_pkey PRIMARY KEY (organization_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX occurrences_by_correlation ON occurrences (organization_id, correlation_id) WHERE correlation_id IS NOT NULL; -- lists of occurrences with a correlation id
CREATE INDEX occurrences_by_outcome ON occurrences (organization_id, outcome, id) WHERE outcome IS NOT NULL; -- lists of occurrences with an outcome, and the overview
CREATE INDEX occurrences_continued ON occurrences (priority, organization_id, due_at) WHERE status = 'expanding' AND owner IS NULL; -- claims of further pages of a fan-out
CREATE INDEX occurrences_due ON occurrences (priority, organization_id, due_at) WHERE status = 'accepted'; -- claims of accepted occurrences
CREATE INDEX occurrences_expanding ON occurrences (owner) WHERE status = 'expanding'; -- recovery of what a dead worker was expanding
CREATE INDEX occurrences_held ON occurrences (event_id) WHERE (status = ANY (ARRAY['accepted', 'expanding'])) AND due_at = 'infinity'::timestamp with time zone; -- release when a pause ends
CREATE INDEX occurrences_unacknowledged ON occurrences (organization_id, id) WHERE awaits_acknowledgement; -- the board of escalations

CREATE TABLE occurrences_rest PARTITION OF occurrences DEFAULT;

CREATE TABLE idempotency_keys (
  organization_id bigint NOT NULL,
  event_id bigint NOT NULL,
  key text NOT NULL,
  body_hash bytea NOT NULL,
  occurrence_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (organization_id, event_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE TABLE deliveries (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  id bigint NOT NULL DEFAULT nextval('delivery_ids'::regclass),
  notification_id bigint NOT NULL,
  version integer NOT NULL,
  channel_id bigint NOT NULL,
  user_id bigint NOT NULL,
  address text,
  status text NOT NULL,
  reason text,
  detail text,
  priority smallint NOT NULL,
  attempts smallint NOT NULL DEFAULT 0,
  provider_index smallint NOT NULL DEFAULT 0,
  provider_attempts smallint NOT NULL DEFAULT 0,
  provider text,
  provider_message_id text,
  owner bigint,
  due_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  sent_at timestamptz,
  snapshot_id uuid,
  user_version integer,
  crashes smallint NOT NULL DEFAULT 0,
  attempt_ms integer,
  failed_attempts jsonb,
  digest_id uuid,
  step smallint NOT NULL DEFAULT 0,
  released_at timestamptz,
  retry_since timestamptz,
  worker_deaths smallint,
  CONSTRAINT deliveries_pkey PRIMARY KEY (organization_id, occurrence_id, id)
) PARTITION BY RANGE (occurrence_id);
CREATE INDEX deliveries_by_provider_id ON deliveries (organization_id, provider_message_id) WHERE (provider = ANY (ARRAY['mailersend', 'resend', 'ses', 'twilio'])) AND provider_message_id IS NOT NULL; -- feedback of services that report only their own id
CREATE INDEX deliveries_by_user ON deliveries (user_id) WHERE status = ANY (ARRAY['sent', 'failed', 'suppressed', 'cancelled', 'expired', 'unknown']); -- the history of a user
CREATE INDEX deliveries_due ON deliveries (priority, organization_id, due_at) WHERE status = ANY (ARRAY['pending', 'retrying']); -- claims of pending deliveries and retries
CREATE INDEX deliveries_failed ON deliveries (organization_id, occurrence_id, id) WHERE status = ANY (ARRAY['failed', 'unknown']); -- failures by cause, and replays
CREATE INDEX deliveries_held ON deliveries (channel_id) WHERE status = 'pending' AND due_at = 'infinity'::timestamp with time zone; -- release when a pause ends
CREATE INDEX deliveries_of_digest ON deliveries (organization_id, digest_id, occurrence_id, id) WHERE digest_id IS NOT NULL; -- items of a digest
CREATE INDEX deliveries_of_steps ON deliveries (occurrence_id, user_id) WHERE step > 0; -- who was notified by earlier steps
CREATE UNIQUE INDEX deliveries_once ON deliveries (organization_id, NULLIF(occurrence_id, '00000000-0000-0000-0000-000000000000'::uuid), notification_id, channel_id, COALESCE(address, '#' || user_id), step, occurrence_id); -- no second delivery when a page is stored again
CREATE INDEX deliveries_sandboxed ON deliveries (organization_id, occurrence_id, id) WHERE provider = 'sandbox'; -- messages in the sandbox
CREATE INDEX deliveries_sending ON deliveries (owner) WHERE status = 'sending'; -- recovery of what a dead worker was sending
CREATE INDEX deliveries_suppressed ON deliveries (organization_id, occurrence_id, reason, id) WHERE status = 'suppressed'; -- counts of suppressed deliveries by reason

CREATE TABLE deliveries_rest PARTITION OF deliveries DEFAULT;

CREATE TABLE delivery_stats (
  organization_id bigint NOT NULL,
  hour timestamptz NOT NULL,
  event_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  status text NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT delivery_stats_pkey PRIMARY KEY (organization_id, hour, event_id, channel_id, status)
);

CREATE TABLE channel_rates (
  organization_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  next_at timestamptz NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  granted integer NOT NULL DEFAULT 0,
  CONSTRAINT channel_rates_pkey PRIMARY KEY (organization_id, channel_id),
  CONSTRAINT channel_rates_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE inbox (
  organization_id bigint NOT NULL,
  user_id bigint NOT NULL,
  id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  read_at timestamptz,
  archived_at timestamptz,
  seen_at timestamptz,
  acted_at timestamptz,
  action text,
  category text,
  avatar text,
  actions jsonb,
  sequence bigint NOT NULL DEFAULT 0,
  created_sequence bigint NOT NULL DEFAULT 0,
  CONSTRAINT inbox_pkey PRIMARY KEY (organization_id, user_id, id),
  CONSTRAINT inbox_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX inbox_by_age ON inbox (organization_id, created_at);
CREATE INDEX inbox_by_sequence ON inbox (organization_id, user_id, sequence);
CREATE INDEX inbox_current ON inbox (organization_id, user_id, id) WHERE archived_at IS NULL;
CREATE INDEX inbox_read ON inbox (id) WHERE read_at IS NOT NULL;
CREATE INDEX inbox_unread ON inbox (organization_id, user_id, id) WHERE archived_at IS NULL AND read_at IS NULL;

CREATE TABLE layouts (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  project_id bigint,
  name text NOT NULL,
  name_key text NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT layouts_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT layouts_organization_id_project_id_name_key_key UNIQUE NULLS NOT DISTINCT (organization_id, project_id, name_key),
  CONSTRAINT layouts_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT layouts_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE render_snapshots (
  organization_id bigint NOT NULL,
  id uuid NOT NULL,
  content jsonb NOT NULL,
  used_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT render_snapshots_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT render_snapshots_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE user_history (
  organization_id bigint NOT NULL,
  user_id bigint NOT NULL,
  version integer NOT NULL,
  username text NOT NULL,
  email text NOT NULL,
  first_name text NOT NULL,
  last_name text NOT NULL,
  locked boolean NOT NULL,
  locale text,
  custom_fields jsonb NOT NULL,
  replaced_at timestamptz NOT NULL DEFAULT now(),
  timezone text,
  memberships jsonb,
  CONSTRAINT user_history_pkey PRIMARY KEY (organization_id, user_id, version),
  CONSTRAINT user_history_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX user_history_by_age ON user_history (organization_id, replaced_at);

CREATE TABLE missing_variables (
  organization_id bigint NOT NULL,
  notification_id bigint NOT NULL,
  name text NOT NULL,
  count bigint NOT NULL,
  version integer NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  CONSTRAINT missing_variables_pkey PRIMARY KEY (organization_id, notification_id, name),
  CONSTRAINT missing_variables_organization_id_notification_id_fkey FOREIGN KEY (organization_id, notification_id) REFERENCES notifications(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE audit (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT now(),
  actor_kind text NOT NULL,
  actor_id text,
  actor_name text NOT NULL,
  action text NOT NULL,
  noun text NOT NULL,
  path text NOT NULL,
  before jsonb,
  after jsonb,
  origin text,
  request_id text,
  CONSTRAINT audit_pkey PRIMARY KEY (organization_id, id)
);
CREATE INDEX audit_by_age ON audit (at);

CREATE TABLE accounts (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  email text NOT NULL,
  email_verified boolean NOT NULL DEFAULT false,
  name text NOT NULL DEFAULT '',
  password_hash text,
  admin boolean NOT NULL DEFAULT false,
  oidc_issuer text,
  oidc_subject text,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz,
  totp_secret bytea,
  totp_added_at timestamptz,
  totp_last_step bigint,
  generation integer NOT NULL DEFAULT 0,
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_email_key UNIQUE (email),
  CONSTRAINT accounts_oidc_issuer_oidc_subject_key UNIQUE (oidc_issuer, oidc_subject)
);

CREATE TABLE memberships (
  organization_id bigint NOT NULL,
  account_id bigint NOT NULL,
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT memberships_pkey PRIMARY KEY (organization_id, account_id),
  CONSTRAINT memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT memberships_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX memberships_by_account ON memberships (account_id);

CREATE TABLE sessions (
  token_hash bytea NOT NULL,
  account_id bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  user_agent text,
  origin text,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  method text NOT NULL DEFAULT 'password',
  confirmed_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT sessions_pkey PRIMARY KEY (token_hash),
  CONSTRAINT sessions_id_key UNIQUE (id),
  CONSTRAINT sessions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_account ON sessions (account_id);

CREATE TABLE invites (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  token_hash bytea NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  invited_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  mailed boolean NOT NULL DEFAULT false,
  inviter_key_id text,
  CONSTRAINT invites_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT invites_organization_id_email_key UNIQUE (organization_id, email),
  CONSTRAINT invites_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX invites_by_email ON invites (email);
CREATE INDEX invites_by_token ON invites (token_hash);

CREATE TABLE layout_versions (
  organization_id bigint NOT NULL,
  layout_id bigint NOT NULL,
  version integer NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text,
  CONSTRAINT layout_versions_pkey PRIMARY KEY (organization_id, layout_id, version),
  CONSTRAINT layout_versions_organization_id_layout_id_fkey FOREIGN KEY (organization_id, layout_id) REFERENCES layouts(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE trigger_stats (
  organization_id bigint NOT NULL,
  hour timestamptz NOT NULL,
  event_id bigint NOT NULL,
  part smallint NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT trigger_stats_pkey PRIMARY KEY (organization_id, hour, event_id, part)
);

CREATE TABLE latency_stats (
  organization_id bigint NOT NULL,
  hour timestamptz NOT NULL,
  bucket smallint NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT latency_stats_pkey PRIMARY KEY (organization_id, hour, bucket)
);

CREATE TABLE summed_stats (
  organization_id bigint NOT NULL,
  until timestamptz NOT NULL,
  CONSTRAINT summed_stats_pkey PRIMARY KEY (organization_id)
);

CREATE TABLE hour_stats (
  organization_id bigint NOT NULL,
  hour timestamptz NOT NULL,
  triggers bigint NOT NULL,
  sent bigint NOT NULL,
  failed bigint NOT NULL,
  suppressed bigint NOT NULL,
  cancelled bigint NOT NULL,
  expired bigint NOT NULL,
  unknown bigint NOT NULL,
  CONSTRAINT hour_stats_pkey PRIMARY KEY (organization_id, hour)
);

CREATE TABLE event_day_stats (
  organization_id bigint NOT NULL,
  day timestamptz NOT NULL,
  event_id bigint NOT NULL,
  triggers bigint NOT NULL,
  sent bigint NOT NULL,
  failed bigint NOT NULL,
  suppressed bigint NOT NULL,
  cancelled bigint NOT NULL,
  expired bigint NOT NULL,
  unknown bigint NOT NULL,
  CONSTRAINT event_day_stats_pkey PRIMARY KEY (organization_id, event_id, day)
);
CREATE INDEX event_day_stats_busy ON event_day_stats (organization_id, day) INCLUDE (event_id, triggers, sent);

CREATE TABLE channel_day_stats (
  organization_id bigint NOT NULL,
  day timestamptz NOT NULL,
  channel_id bigint NOT NULL,
  sent bigint NOT NULL,
  failed bigint NOT NULL,
  suppressed bigint NOT NULL,
  cancelled bigint NOT NULL,
  expired bigint NOT NULL,
  unknown bigint NOT NULL,
  CONSTRAINT channel_day_stats_pkey PRIMARY KEY (organization_id, day, channel_id)
);

CREATE TABLE latency_day_stats (
  organization_id bigint NOT NULL,
  day timestamptz NOT NULL,
  bucket smallint NOT NULL,
  count bigint NOT NULL,
  CONSTRAINT latency_day_stats_pkey PRIMARY KEY (organization_id, day, bucket)
);

CREATE TABLE passkeys (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  account_id bigint NOT NULL,
  credential_id bytea NOT NULL,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz,
  rp_id text,
  CONSTRAINT passkeys_pkey PRIMARY KEY (id),
  CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id),
  CONSTRAINT passkeys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX passkeys_by_account ON passkeys (account_id);

CREATE TABLE recovery_codes (
  account_id bigint NOT NULL,
  code_hash bytea NOT NULL,
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (account_id, code_hash),
  CONSTRAINT recovery_codes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

CREATE TABLE password_resets (
  token_hash bytea NOT NULL,
  account_id bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT password_resets_pkey PRIMARY KEY (token_hash),
  CONSTRAINT password_resets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX password_resets_by_account ON password_resets (account_id);

CREATE TABLE used_challenges (
  challenge_hash bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT used_challenges_pkey PRIMARY KEY (challenge_hash)
);

CREATE TABLE sign_in_limits (
  email_hash bytea NOT NULL,
  scope text NOT NULL,
  attempts integer NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  locked_until timestamptz,
  CONSTRAINT sign_in_limits_pkey PRIMARY KEY (email_hash, scope)
);

CREATE UNLOGGED TABLE worker_rounds (
  worker_id bigint NOT NULL,
  finished_at timestamptz NOT NULL,
  CONSTRAINT worker_rounds_pkey PRIMARY KEY (worker_id)
);

CREATE TABLE categories (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  slug text NOT NULL,
  name text NOT NULL,
  description text NOT NULL DEFAULT '',
  kind text NOT NULL DEFAULT 'transactional',
  default_on boolean NOT NULL DEFAULT true,
  channel_defaults jsonb NOT NULL DEFAULT '{}',
  channels text[],
  quiet_hours text NOT NULL DEFAULT 'respect',
  locales jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  track boolean NOT NULL DEFAULT false,
  CONSTRAINT categories_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT categories_organization_id_slug_key UNIQUE (organization_id, slug),
  CONSTRAINT categories_kind_check CHECK (kind = ANY (ARRAY['required', 'transactional', 'promotional'])),
  CONSTRAINT categories_quiet_hours_check CHECK (quiet_hours = ANY (ARRAY['respect', 'ignore'])),
  CONSTRAINT categories_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE preferences (
  organization_id bigint NOT NULL,
  user_id bigint NOT NULL,
  scope text COLLATE "C" NOT NULL,
  channel_type text COLLATE "C" NOT NULL DEFAULT '',
  enabled boolean NOT NULL,
  source text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT preferences_pkey PRIMARY KEY (organization_id, user_id, scope, channel_type),
  CONSTRAINT preferences_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE preference_history (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  user_id bigint NOT NULL,
  scope text NOT NULL,
  channel_type text NOT NULL,
  enabled boolean,
  source text NOT NULL,
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT preference_history_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT preference_history_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX preference_history_by_user ON preference_history (organization_id, user_id, id);

CREATE TABLE throttle_uses (
  organization_id bigint NOT NULL,
  notification_id bigint NOT NULL,
  user_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  times timestamptz[] NOT NULL DEFAULT '{}'::timestamp with time zone[],
  expires_at timestamptz NOT NULL,
  CONSTRAINT throttle_uses_pkey PRIMARY KEY (organization_id, notification_id, user_id, key)
);
CREATE INDEX throttle_uses_by_age ON throttle_uses (expires_at);

CREATE TABLE digests (
  organization_id bigint NOT NULL,
  id uuid NOT NULL,
  event_id bigint NOT NULL,
  notification_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  recipient_id bigint NOT NULL,
  user_id bigint NOT NULL,
  address text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  items integer NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  closes_at timestamptz NOT NULL,
  closed_at timestamptz,
  CONSTRAINT digests_pkey PRIMARY KEY (organization_id, id)
);
CREATE INDEX digests_by_event ON digests (organization_id, event_id, id) WHERE closed_at IS NULL;
CREATE INDEX digests_empty ON digests (closes_at) WHERE items = 0;
CREATE UNIQUE INDEX digests_open ON digests (organization_id, notification_id, channel_id, recipient_id, address, key) WHERE closed_at IS NULL;

CREATE TABLE steps (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  notification_id bigint NOT NULL,
  number smallint NOT NULL,
  step smallint NOT NULL,
  status text NOT NULL DEFAULT 'waiting',
  reason text,
  priority smallint NOT NULL,
  due_at timestamptz NOT NULL,
  began_at timestamptz NOT NULL,
  owner bigint,
  cursor jsonb,
  messages integer NOT NULL DEFAULT 0,
  suppressed integer NOT NULL DEFAULT 0,
  crashes smallint NOT NULL DEFAULT 0,
  ended_at timestamptz,
  CONSTRAINT steps_pkey PRIMARY KEY (organization_id, occurrence_id, notification_id, number),
  CONSTRAINT steps_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX steps_due ON steps (priority, organization_id, due_at) WHERE status = 'waiting' AND owner IS NULL;
CREATE INDEX steps_owned ON steps (owner) WHERE status = 'waiting' AND owner IS NOT NULL;

CREATE TABLE dedup_keys (
  organization_id bigint NOT NULL,
  event_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  occurrence_id uuid NOT NULL,
  closes_at timestamptz NOT NULL,
  CONSTRAINT dedup_keys_pkey PRIMARY KEY (organization_id, event_id, key),
  CONSTRAINT dedup_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX dedup_keys_by_age ON dedup_keys (closes_at);

CREATE TABLE inboxes (
  organization_id bigint NOT NULL,
  user_id bigint NOT NULL,
  sequence bigint NOT NULL DEFAULT 0,
  unread integer NOT NULL DEFAULT 0,
  unseen integer NOT NULL DEFAULT 0,
  CONSTRAINT inboxes_pkey PRIMARY KEY (organization_id, user_id),
  CONSTRAINT inboxes_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE webhooks (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  slug text NOT NULL,
  name text NOT NULL,
  url text NOT NULL,
  types text[] NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  disabled_at timestamptz,
  disabled_reason text,
  secrets bytea NOT NULL,
  previous_until timestamptz,
  active boolean NOT NULL GENERATED ALWAYS AS ((enabled AND (disabled_at IS NULL))) STORED,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  instance_wide boolean NOT NULL DEFAULT false,
  CONSTRAINT webhooks_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT webhooks_organization_id_slug_key UNIQUE (organization_id, slug),
  CONSTRAINT webhooks_disabled_reason_check CHECK (disabled_reason = ANY (ARRAY['failing', 'gone'])),
  CONSTRAINT webhooks_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX webhooks_active ON webhooks (organization_id) WHERE active;
CREATE INDEX webhooks_instance_wide ON webhooks (organization_id, id) WHERE active AND instance_wide;

CREATE TABLE webhook_states (
  organization_id bigint NOT NULL,
  webhook_id bigint NOT NULL,
  tokens double precision NOT NULL DEFAULT 0,
  tokens_at timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_failure text,
  failing_since timestamptz,
  CONSTRAINT webhook_states_pkey PRIMARY KEY (organization_id, webhook_id),
  CONSTRAINT webhook_states_organization_id_webhook_id_fkey FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE webhook_messages (
  organization_id bigint NOT NULL,
  webhook_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  key uuid NOT NULL DEFAULT gen_random_uuid(),
  type text NOT NULL,
  data jsonb NOT NULL,
  status text NOT NULL DEFAULT 'waiting',
  attempts smallint NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  claimed_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  sent_at timestamptz,
  log jsonb NOT NULL DEFAULT '[]',
  CONSTRAINT webhook_messages_pkey PRIMARY KEY (organization_id, webhook_id, id),
  CONSTRAINT webhook_messages_status_check CHECK (status = ANY (ARRAY['waiting', 'sent', 'failed']))
);
CREATE INDEX webhook_messages_by_age ON webhook_messages (organization_id, created_at);
CREATE INDEX webhook_messages_by_status ON webhook_messages (organization_id, webhook_id, status, id);
CREATE INDEX webhook_messages_claimed ON webhook_messages (organization_id, webhook_id, claimed_at) WHERE claimed_at IS NOT NULL;
CREATE INDEX webhook_messages_due ON webhook_messages (organization_id, webhook_id, due_at) WHERE status = 'waiting';

CREATE TABLE channel_outages (
  organization_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT channel_outages_pkey PRIMARY KEY (organization_id, channel_id),
  CONSTRAINT channel_outages_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE instance (
  xid bigint NOT NULL,
  relation bigint NOT NULL,
  database bigint NOT NULL,
  system text,
  server_major integer NOT NULL,
  timeline bigint,
  addresses text[] NOT NULL DEFAULT '{}'[],
  name text,
  files_made_at timestamptz,
  seen_at timestamptz NOT NULL DEFAULT now(),
  paused_at timestamptz,
  paused_reason text,
  served_url text
);
CREATE UNIQUE INDEX instance_once ON instance ((true));

CREATE TABLE registrations (
  organization_id bigint NOT NULL,
  application_id bigint NOT NULL,
  user_id bigint NOT NULL,
  active boolean NOT NULL DEFAULT true,
  custom_fields jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT registrations_pkey PRIMARY KEY (organization_id, application_id, user_id),
  CONSTRAINT registrations_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT registrations_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX registrations_by_user ON registrations (organization_id, user_id);

CREATE TABLE suppressions (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  channel_type text NOT NULL,
  target text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  source text NOT NULL,
  detail text,
  since timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  feedback_id text,
  projects bigint[],
  CONSTRAINT suppressions_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT suppressions_organization_id_target_channel_type_key UNIQUE (organization_id, target, channel_type),
  CONSTRAINT suppressions_reason_check CHECK (reason = ANY (ARRAY['bounced', 'complained', 'unsubscribed', 'manual'])),
  CONSTRAINT suppressions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX suppressions_by_reason ON suppressions (organization_id, reason, id);
CREATE INDEX suppressions_by_type ON suppressions (organization_id, channel_type, id);
CREATE INDEX suppressions_expiring ON suppressions (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE feedback (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  delivery_id bigint NOT NULL,
  key uuid NOT NULL,
  id uuid NOT NULL,
  source text NOT NULL,
  type text NOT NULL,
  permanent boolean,
  reason text,
  detail text,
  address text,
  recipient text,
  at timestamptz NOT NULL,
  CONSTRAINT feedback_pkey PRIMARY KEY (organization_id, occurrence_id, delivery_id, key),
  CONSTRAINT feedback_type_check CHECK (type = ANY (ARRAY['delivered', 'bounced', 'deferred', 'complained', 'unsubscribed', 'opened', 'clicked']))
) PARTITION BY RANGE (occurrence_id);
CREATE INDEX feedback_by_address ON feedback (organization_id, address, at) WHERE type = ANY (ARRAY['bounced', 'delivered']);
CREATE INDEX feedback_by_type ON feedback (organization_id, type, id);

CREATE TABLE feedback_rest PARTITION OF feedback DEFAULT;

CREATE TABLE feedback_unmatched (
  organization_id bigint NOT NULL,
  key uuid NOT NULL,
  id uuid NOT NULL,
  source text NOT NULL,
  type text NOT NULL,
  permanent boolean,
  reason text,
  detail text,
  recipient text,
  message_id text,
  delivery_ref text,
  at timestamptz NOT NULL,
  channels bigint[],
  CONSTRAINT feedback_unmatched_pkey PRIMARY KEY (organization_id, key),
  CONSTRAINT feedback_unmatched_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX feedback_unmatched_by_time ON feedback_unmatched (organization_id, id);

CREATE TABLE channel_feedback (
  organization_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  last_received_at timestamptz,
  last_refused_at timestamptz,
  last_refusal text,
  CONSTRAINT channel_feedback_pkey PRIMARY KEY (organization_id, channel_id),
  CONSTRAINT channel_feedback_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE channel_reputation (
  organization_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  hour timestamptz NOT NULL,
  bounced integer NOT NULL DEFAULT 0,
  bounced_temporarily integer NOT NULL DEFAULT 0,
  complained integer NOT NULL DEFAULT 0,
  CONSTRAINT channel_reputation_pkey PRIMARY KEY (organization_id, channel_id, hour),
  CONSTRAINT channel_reputation_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE provider_days (
  organization_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  provider text NOT NULL,
  day timestamptz NOT NULL,
  used integer NOT NULL,
  first_day timestamptz NOT NULL,
  granted integer NOT NULL,
  CONSTRAINT provider_days_pkey PRIMARY KEY (organization_id, channel_id, provider),
  CONSTRAINT provider_days_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE feedback_mailboxes (
  organization_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  mailbox text NOT NULL,
  due_at timestamptz NOT NULL DEFAULT now(),
  uid_validity bigint,
  last_uid bigint NOT NULL DEFAULT 0,
  checked_at timestamptz,
  failed_at timestamptz,
  error text,
  CONSTRAINT feedback_mailboxes_pkey PRIMARY KEY (organization_id, channel_id, mailbox),
  CONSTRAINT feedback_mailboxes_organization_id_channel_id_fkey FOREIGN KEY (organization_id, channel_id) REFERENCES channels(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX feedback_mailboxes_by_due ON feedback_mailboxes (due_at);

CREATE TABLE message_updates (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  delivery_id bigint NOT NULL,
  change text NOT NULL,
  changed_by text,
  changed_at timestamptz NOT NULL,
  status text NOT NULL DEFAULT 'waiting',
  due_at timestamptz NOT NULL DEFAULT now(),
  claimed boolean NOT NULL DEFAULT false,
  claims integer NOT NULL DEFAULT 0,
  attempts smallint NOT NULL DEFAULT 0,
  cursor bigint NOT NULL DEFAULT 0,
  log jsonb NOT NULL DEFAULT '[]',
  CONSTRAINT message_updates_pkey PRIMARY KEY (organization_id, occurrence_id, delivery_id),
  CONSTRAINT message_updates_change_check CHECK (change = ANY (ARRAY['acknowledged', 'resolved', 'cancelled'])),
  CONSTRAINT message_updates_status_check CHECK (status = ANY (ARRAY['waiting', 'done', 'failed'])),
  CONSTRAINT message_updates_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX message_updates_by_due ON message_updates (organization_id, due_at) WHERE status = 'waiting';

CREATE TABLE attachments (
  organization_id bigint NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  content_type text NOT NULL,
  bytes integer NOT NULL,
  content bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  CONSTRAINT attachments_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT attachments_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX attachments_by_expiry ON attachments (organization_id, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE occurrence_attachments (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  source text NOT NULL,
  attachment_id uuid NOT NULL,
  CONSTRAINT occurrence_attachments_pkey PRIMARY KEY (organization_id, occurrence_id, source),
  CONSTRAINT occurrence_attachments_organization_id_attachment_id_fkey FOREIGN KEY (organization_id, attachment_id) REFERENCES attachments(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX occurrence_attachments_by_attachment ON occurrence_attachments (organization_id, attachment_id);

CREATE TABLE organization_moves (
  organization_id bigint NOT NULL,
  id uuid NOT NULL,
  slug text NOT NULL,
  state text NOT NULL,
  url text,
  copied text[] NOT NULL DEFAULT '{}'[],
  feedback_tokens text[] NOT NULL DEFAULT '{}'[],
  began_at timestamptz NOT NULL DEFAULT now(),
  state_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT organization_moves_pkey PRIMARY KEY (organization_id),
  CONSTRAINT organization_moves_state_check CHECK (state = ANY (ARRAY['arriving', 'arrived', 'copying', 'draining', 'closing', 'frozen', 'moved', 'left']))
);

CREATE TABLE organization_changes (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  table_name text NOT NULL,
  key jsonb NOT NULL,
  CONSTRAINT organization_changes_pkey PRIMARY KEY (organization_id, id)
);

CREATE TABLE received_signatures (
  organization_id bigint NOT NULL,
  channel_id bigint NOT NULL,
  signature uuid NOT NULL,
  body uuid NOT NULL,
  received_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT received_signatures_pkey PRIMARY KEY (organization_id, channel_id, signature),
  CONSTRAINT received_signatures_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX received_signatures_expiring ON received_signatures (expires_at);
CREATE INDEX received_signatures_kept ON received_signatures (organization_id, channel_id, received_at) WHERE expires_at = 'infinity'::timestamp with time zone;

CREATE TABLE unexpanded_counts (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  cursor jsonb,
  counted integer NOT NULL DEFAULT 0,
  claims smallint NOT NULL DEFAULT 0,
  claimed_at timestamptz,
  CONSTRAINT unexpanded_counts_pkey PRIMARY KEY (organization_id, occurrence_id),
  CONSTRAINT unexpanded_counts_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE attachment_usage (
  organization_id bigint NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT attachment_usage_pkey PRIMARY KEY (organization_id),
  CONSTRAINT attachment_usage_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE OR REPLACE FUNCTION announce_account()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('belfry_changed', 'account ' || coalesce(changed ->> 'account_id', changed ->> 'id'));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION announce_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('belfry_changed', coalesce(changed ->> 'organization_id', changed ->> 'id'));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION announce_move()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('belfry_changed', 'moves');
  perform pg_notify('belfry_changed', coalesce(new.organization_id, old.organization_id)::text);
  if new.state = 'moved' then
    -- Inbox streams end, so that clients connect to the other cell.
    perform pg_notify('belfry_inbox', 'left ' || new.organization_id);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION announce_stop()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' then
    perform pg_notify('belfry_stop', organization_id::text) from (select distinct organization_id from gone) organizations;
  else
    perform pg_notify('belfry_stop', new.organization_id::text);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION announce_suppression()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update organizations set suppresses = true
    where id in (select organization_id from added) and not suppresses;
  perform pg_notify('belfry_stop', organization_id::text) from (select distinct organization_id from added) organizations;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION announce_user()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION count_added_to_inbox()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION count_attachments()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION count_changed_in_inbox()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION count_members()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION count_removed_from_inbox()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION keep_choices()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION keep_memberships()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION keep_occurrence_outcome()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.outcome := occurrence_outcome(new);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_user()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION natural_key(first_key text, last_key text, username text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (regexp_replace(regexp_replace(CASE WHEN ((first_key = ''::text) AND (last_key = ''::text)) THEN username ELSE btrim(((first_key || ' '::text) || last_key)) END, '(\d+)'::text, '000000000000\1'::text, 'g'::text), '\d*(\d{12})'::text, '\1'::text, 'g'::text) COLLATE "C");

CREATE OR REPLACE FUNCTION note_moving_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION occurrence_outcome(o occurrences)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
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
end $function$;

CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON organizations
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON projects
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON applications
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON events
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON channels
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_stop AFTER UPDATE ON users
  FOR EACH ROW WHEN (old.locked IS DISTINCT FROM new.locked OR old.choices IS DISTINCT FROM new.choices OR old.quiet_hours IS DISTINCT FROM new.quiet_hours OR old.timezone IS DISTINCT FROM new.timezone) EXECUTE FUNCTION announce_stop();
CREATE TRIGGER announce_stop_deleted AFTER DELETE ON users REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION announce_stop();
CREATE TRIGGER announce_user AFTER UPDATE OF locked, link_generation, username ON users
  FOR EACH ROW WHEN (old.locked IS DISTINCT FROM new.locked OR old.link_generation IS DISTINCT FROM new.link_generation OR old.username IS DISTINCT FROM new.username) EXECUTE FUNCTION announce_user();
CREATE TRIGGER announce_user_deleted AFTER DELETE ON users REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION announce_user();
CREATE TRIGGER keep_user BEFORE UPDATE ON users
  FOR EACH ROW WHEN (old.username IS DISTINCT FROM new.username OR old.email IS DISTINCT FROM new.email OR old.first_name IS DISTINCT FROM new.first_name OR old.last_name IS DISTINCT FROM new.last_name OR old.locked IS DISTINCT FROM new.locked OR old.locale IS DISTINCT FROM new.locale OR old.custom_fields IS DISTINCT FROM new.custom_fields OR old.timezone IS DISTINCT FROM new.timezone OR old.memberships IS DISTINCT FROM new.memberships) EXECUTE FUNCTION keep_user();
CREATE TRIGGER announce_stop AFTER UPDATE ON addresses
  FOR EACH ROW WHEN (old.value IS DISTINCT FROM new.value OR old.disabled_at IS DISTINCT FROM new.disabled_at) EXECUTE FUNCTION announce_stop();
CREATE TRIGGER announce_stop_deleted AFTER DELETE ON addresses REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION announce_stop();
CREATE TRIGGER count_added AFTER INSERT ON members REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();
CREATE TRIGGER count_changed AFTER UPDATE ON members REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();
CREATE TRIGGER count_removed AFTER DELETE ON members REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE OF name, secret_hash, project_id, application_id, permissions, requests_per_second, allowed_networks, expires_at, revoked_at, paused_at ON keys
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON notifications
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT ON messages
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER occurrence_changed BEFORE UPDATE ON occurrences
  FOR EACH ROW WHEN (NOT new.outcome IS DISTINCT FROM old.outcome) EXECUTE FUNCTION keep_occurrence_outcome();
CREATE TRIGGER occurrence_stored BEFORE INSERT ON occurrences
  FOR EACH ROW WHEN (new.status <> 'accepted'::text OR new.due_at <> new.created_at) EXECUTE FUNCTION keep_occurrence_outcome();
CREATE TRIGGER count_added AFTER INSERT ON inbox REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_added_to_inbox();
CREATE TRIGGER count_changed AFTER UPDATE ON inbox REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_in_inbox();
CREATE TRIGGER count_removed AFTER DELETE ON inbox REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_removed_from_inbox();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON layouts
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_account AFTER DELETE OR UPDATE OF email, name, password_hash, admin, totp_secret ON accounts
  FOR EACH ROW EXECUTE FUNCTION announce_account();
CREATE TRIGGER announce_account AFTER INSERT OR DELETE OR UPDATE ON memberships
  FOR EACH ROW EXECUTE FUNCTION announce_account();
CREATE TRIGGER announce_account AFTER DELETE ON sessions
  FOR EACH ROW EXECUTE FUNCTION announce_account();
CREATE TRIGGER announce_account AFTER INSERT OR DELETE ON passkeys
  FOR EACH ROW EXECUTE FUNCTION announce_account();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON categories
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER choices_added AFTER INSERT ON preferences REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION keep_choices();
CREATE TRIGGER choices_changed AFTER UPDATE ON preferences REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION keep_choices();
CREATE TRIGGER choices_removed AFTER DELETE ON preferences REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION keep_choices();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON webhooks
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER memberships_added AFTER INSERT ON registrations REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION keep_memberships();
CREATE TRIGGER memberships_changed AFTER UPDATE ON registrations REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION keep_memberships();
CREATE TRIGGER memberships_removed AFTER DELETE ON registrations REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION keep_memberships();
CREATE TRIGGER announce_suppression AFTER INSERT ON suppressions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION announce_suppression();
CREATE TRIGGER announce_suppression_extended AFTER UPDATE ON suppressions REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION announce_suppression();
CREATE TRIGGER count_added AFTER INSERT ON attachments REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_attachments();
CREATE TRIGGER count_removed AFTER DELETE ON attachments REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_attachments();
CREATE TRIGGER announce_move AFTER INSERT OR DELETE OR UPDATE OF state ON organization_moves
  FOR EACH ROW EXECUTE FUNCTION announce_move();
