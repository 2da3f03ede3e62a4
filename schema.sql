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
  guard jsonb,
  service_levels jsonb,
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
  guard jsonb,
  pause_cause text,
  CONSTRAINT applications_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT applications_organization_id_project_id_slug_key UNIQUE (organization_id, project_id, slug),
  CONSTRAINT applications_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX applications_guarded ON applications (organization_id) WHERE pause_cause IS NOT NULL; -- metrics

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
  guard jsonb,
  pause_cause text,
  CONSTRAINT events_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT events_organization_id_application_id_slug_key UNIQUE (organization_id, application_id, slug),
  CONSTRAINT events_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT events_organization_id_category_id_fkey FOREIGN KEY (organization_id, category_id) REFERENCES categories(organization_id, id)
);
CREATE INDEX events_by_category ON events (organization_id, category_id) WHERE category_id IS NOT NULL;
CREATE INDEX events_guarded ON events (organization_id) WHERE pause_cause IS NOT NULL; -- metrics

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
  reach jsonb,
  calendar_generation integer NOT NULL DEFAULT 0,
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
  verified_at timestamptz,
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
  pause_cause text,
  CONSTRAINT keys_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT keys_organization_id_name_key UNIQUE (organization_id, name),
  CONSTRAINT keys_allowed_networks_check CHECK (cardinality(allowed_networks) > 0),
  CONSTRAINT keys_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT keys_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX keys_by_id ON keys (id);
CREATE INDEX keys_guarded ON keys (organization_id) WHERE pause_cause IS NOT NULL; -- metrics

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
  canary jsonb,
  acknowledgement_expires text,
  ack text,
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
  acknowledged_until timestamptz,
  snoozed_by text,
  round_began_at timestamptz,
  earlier_contexts jsonb,
  acknowledged_users jsonb,
  first_page_at timestamptz,
  CONSTRAINT occurrences_pkey PRIMARY KEY (organization_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX occurrences_by_correlation ON occurrences (organization_id, correlation_id) WHERE correlation_id IS NOT NULL; -- lists of occurrences with a correlation id
CREATE INDEX occurrences_by_outcome ON occurrences (organization_id, outcome, id) WHERE outcome IS NOT NULL; -- lists of occurrences with an outcome, and the overview
CREATE INDEX occurrences_continued ON occurrences (priority, organization_id, due_at) WHERE status = 'expanding' AND owner IS NULL; -- claims of further pages of a fan-out
CREATE INDEX occurrences_due ON occurrences (priority, organization_id, due_at) WHERE status = 'accepted'; -- claims of accepted occurrences
CREATE INDEX occurrences_expanding ON occurrences (owner) WHERE status = 'expanding'; -- recovery of what a dead worker was expanding
CREATE INDEX occurrences_held ON occurrences (event_id) WHERE (status = ANY (ARRAY['accepted', 'expanding'])) AND due_at = 'infinity'::timestamp with time zone; -- release when a pause ends
CREATE INDEX occurrences_open ON occurrences (organization_id, (
CASE context ->> 'severity'
    WHEN 'critical' THEN 5
    WHEN 'error' THEN 4
    WHEN 'warning' THEN 3
    WHEN 'info' THEN 1
    ELSE 2
END), id) WHERE acknowledged_at IS NULL AND resolved_at IS NULL AND cancelled_at IS NULL AND (dedup_key IS NOT NULL OR awaits_acknowledgement OR escalating > 0); -- open incidents, those that need attention most first
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
  variant text,
  acted_at timestamptz,
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
  base smallint NOT NULL DEFAULT 0,
  turn bigint,
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
  until timestamptz,
  CONSTRAINT message_updates_pkey PRIMARY KEY (organization_id, occurrence_id, delivery_id),
  CONSTRAINT message_updates_change_check CHECK (change = ANY (ARRAY['acknowledged', 'snoozed', 'reopened', 'resolved', 'cancelled'])) NOT VALID,
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

CREATE TABLE event_audiences (
  organization_id bigint NOT NULL,
  event_id bigint NOT NULL,
  day timestamptz NOT NULL,
  largest integer NOT NULL,
  CONSTRAINT event_audiences_pkey PRIMARY KEY (organization_id, event_id, day),
  CONSTRAINT event_audiences_organization_id_event_id_fkey FOREIGN KEY (organization_id, event_id) REFERENCES events(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX event_audiences_by_age ON event_audiences (day); -- deletion of what no longer counts

CREATE TABLE holds (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  kind text NOT NULL,
  event_id bigint NOT NULL,
  state text NOT NULL DEFAULT 'counting',
  threshold integer NOT NULL,
  largest integer,
  held_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  cursor jsonb,
  claims smallint NOT NULL DEFAULT 0,
  claimed_at timestamptz,
  counts jsonb NOT NULL DEFAULT '{}',
  samples jsonb NOT NULL DEFAULT '[]',
  is_counted boolean NOT NULL DEFAULT false,
  decided_at timestamptz,
  decided_by text,
  note text,
  per_second integer,
  figures jsonb,
  mailed boolean NOT NULL DEFAULT false,
  CONSTRAINT holds_pkey PRIMARY KEY (organization_id, occurrence_id, kind),
  CONSTRAINT holds_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX holds_open ON holds (organization_id, held_at) WHERE state = ANY (ARRAY['counting', 'held']); -- lists of what waits for an approval, counts and expiry
CREATE INDEX holds_waiting ON holds (organization_id, held_at) WHERE state = 'waiting'; -- canaries whose occurrence has ended meanwhile

CREATE TABLE sources (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  application_id bigint NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  use text,
  mapping jsonb,
  routes jsonb NOT NULL,
  group_by text[] NOT NULL DEFAULT '{}'[],
  token_hash bytea NOT NULL,
  secrets bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  update jsonb,
  rejection_reported_at timestamptz,
  CONSTRAINT sources_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT sources_organization_id_application_id_slug_key UNIQUE (organization_id, application_id, slug),
  CONSTRAINT sources_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX sources_by_token ON sources (token_hash);

CREATE TABLE source_payloads (
  organization_id bigint NOT NULL,
  source_id bigint NOT NULL,
  id uuid NOT NULL,
  state text NOT NULL,
  request jsonb NOT NULL,
  body bytea NOT NULL,
  bytes integer NOT NULL,
  alerts jsonb NOT NULL DEFAULT '[]',
  counts jsonb NOT NULL DEFAULT '{}',
  note text,
  retry_at timestamptz,
  CONSTRAINT source_payloads_pkey PRIMARY KEY (organization_id, source_id, id),
  CONSTRAINT source_payloads_state_check CHECK (state = ANY (ARRAY['received', 'taken', 'partly', 'rejected', 'refused'])),
  CONSTRAINT source_payloads_organization_id_source_id_fkey FOREIGN KEY (organization_id, source_id) REFERENCES sources(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX source_payloads_open ON source_payloads (retry_at) WHERE state = 'received';

CREATE TABLE source_alerts (
  organization_id bigint NOT NULL,
  source_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  id uuid NOT NULL,
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  occurrence_id uuid NOT NULL,
  state text NOT NULL,
  title text NOT NULL,
  severity text,
  count integer NOT NULL DEFAULT 1,
  opened_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  details jsonb NOT NULL DEFAULT '{}',
  context jsonb,
  CONSTRAINT source_alerts_pkey PRIMARY KEY (organization_id, source_id, key),
  CONSTRAINT source_alerts_state_check CHECK (state = ANY (ARRAY['open', 'acknowledged', 'resolved'])),
  CONSTRAINT source_alerts_organization_id_source_id_fkey FOREIGN KEY (organization_id, source_id) REFERENCES sources(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX source_alerts_by_age ON source_alerts (last_seen_at);
CREATE INDEX source_alerts_by_id ON source_alerts (organization_id, source_id, id);
CREATE INDEX source_alerts_by_occurrence ON source_alerts (organization_id, source_id, occurrence_id);

CREATE TABLE trigger_rates (
  organization_id bigint NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  day timestamptz NOT NULL,
  hour timestamptz NOT NULL,
  hour_count bigint NOT NULL DEFAULT 0,
  busiest bigint NOT NULL DEFAULT 0,
  minute timestamptz NOT NULL,
  normal integer NOT NULL DEFAULT 0,
  urgent integer NOT NULL DEFAULT 0,
  CONSTRAINT trigger_rates_pkey PRIMARY KEY (organization_id, kind, subject, day),
  CONSTRAINT trigger_rates_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX trigger_rates_by_age ON trigger_rates (day); -- deletion of what no longer counts

CREATE TABLE heartbeats (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  application_id bigint NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  every text NOT NULL,
  timezone text NOT NULL,
  grace text NOT NULL,
  event text NOT NULL,
  severity text,
  context jsonb,
  enabled boolean NOT NULL,
  token_hash bytea NOT NULL,
  secrets bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT heartbeats_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT heartbeats_organization_id_application_id_slug_key UNIQUE (organization_id, application_id, slug),
  CONSTRAINT heartbeats_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX heartbeats_by_token ON heartbeats (token_hash);

CREATE TABLE heartbeat_states (
  organization_id bigint NOT NULL,
  heartbeat_id bigint NOT NULL,
  status text NOT NULL DEFAULT 'new',
  reason text,
  since timestamptz NOT NULL DEFAULT now(),
  last_ping_at timestamptz,
  started_at timestamptz,
  run_id text,
  expected_at timestamptz,
  missing_at timestamptz,
  alert text,
  incident_id uuid,
  occurrence_id uuid,
  error text,
  due_at timestamptz,
  calls bigint NOT NULL DEFAULT 0,
  CONSTRAINT heartbeat_states_pkey PRIMARY KEY (organization_id, heartbeat_id),
  CONSTRAINT heartbeat_states_alert_check CHECK (alert = ANY (ARRAY['opening', 'open', 'closing'])),
  CONSTRAINT heartbeat_states_reason_check CHECK (reason = ANY (ARRAY['missing', 'unfinished', 'failed'])),
  CONSTRAINT heartbeat_states_status_check CHECK (status = ANY (ARRAY['new', 'up', 'down'])),
  CONSTRAINT heartbeat_states_organization_id_heartbeat_id_fkey FOREIGN KEY (organization_id, heartbeat_id) REFERENCES heartbeats(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX heartbeat_states_due ON heartbeat_states (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE heartbeat_calls (
  organization_id bigint NOT NULL,
  heartbeat_id bigint NOT NULL,
  slot smallint NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  exit_status smallint,
  run_id text,
  method text NOT NULL,
  user_agent text NOT NULL,
  body bytea NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT heartbeat_calls_pkey PRIMARY KEY (organization_id, heartbeat_id, slot),
  CONSTRAINT heartbeat_calls_kind_check CHECK (kind = ANY (ARRAY['success', 'start', 'fail', 'log'])),
  CONSTRAINT heartbeat_calls_organization_id_heartbeat_id_fkey FOREIGN KEY (organization_id, heartbeat_id) REFERENCES heartbeats(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE heartbeat_watch (
  id boolean NOT NULL DEFAULT true,
  receiving_at timestamptz NOT NULL,
  outage_from timestamptz,
  outage_until timestamptz,
  CONSTRAINT heartbeat_watch_pkey PRIMARY KEY (id),
  CONSTRAINT heartbeat_watch_id_check CHECK (id)
);

CREATE TABLE silences (
  organization_id bigint NOT NULL,
  id uuid NOT NULL,
  project_id bigint,
  application_id bigint,
  event_id bigint,
  matchers jsonb NOT NULL,
  reason text NOT NULL,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  recurrence jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  ended_by text,
  CONSTRAINT silences_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT silences_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT silences_organization_id_event_id_fkey FOREIGN KEY (organization_id, event_id) REFERENCES events(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT silences_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  CONSTRAINT silences_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX silences_by_end ON silences (organization_id, ends_at); -- silences that are not over, and deletion of old ones
CREATE INDEX silences_ended_early ON silences (ends_at) WHERE ended_by IS NOT NULL; -- release of what was held while a silence was being ended

CREATE TABLE silenced_occurrences (
  organization_id bigint NOT NULL,
  silence_id uuid NOT NULL,
  occurrence_id uuid NOT NULL,
  effect text NOT NULL,
  silenced_at timestamptz NOT NULL DEFAULT now(),
  until timestamptz NOT NULL,
  CONSTRAINT silenced_occurrences_pkey PRIMARY KEY (organization_id, silence_id, occurrence_id),
  CONSTRAINT silenced_occurrences_effect_check CHECK (effect = ANY (ARRAY['held', 'suppressed'])),
  CONSTRAINT silenced_occurrences_organization_id_silence_id_fkey FOREIGN KEY (organization_id, silence_id) REFERENCES silences(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX silenced_occurrences_by_occurrence ON silenced_occurrences (organization_id, occurrence_id); -- the silences of an occurrence

CREATE TABLE responses (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  number integer NOT NULL,
  kind text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  by text,
  until timestamptz,
  CONSTRAINT responses_pkey PRIMARY KEY (organization_id, occurrence_id, number),
  CONSTRAINT responses_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

CREATE TABLE source_updates (
  organization_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  source_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  state text NOT NULL,
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  status text NOT NULL DEFAULT 'waiting',
  due_at timestamptz NOT NULL DEFAULT now(),
  claimed boolean NOT NULL DEFAULT false,
  claims integer NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  reference text,
  log jsonb NOT NULL DEFAULT '[]',
  CONSTRAINT source_updates_pkey PRIMARY KEY (organization_id, occurrence_id, source_id, key),
  CONSTRAINT source_updates_state_check CHECK (state = ANY (ARRAY['acknowledged', 'unacknowledged', 'resolved'])),
  CONSTRAINT source_updates_status_check CHECK (status = ANY (ARRAY['waiting', 'done', 'failed'])),
  CONSTRAINT source_updates_organization_id_source_id_fkey FOREIGN KEY (organization_id, source_id) REFERENCES sources(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX source_updates_by_source ON source_updates (organization_id, source_id, changed_at);
CREATE INDEX source_updates_waiting ON source_updates (organization_id, due_at) WHERE status = 'waiting';

CREATE TABLE guard_mails (
  organization_id bigint NOT NULL,
  account_id bigint NOT NULL,
  about text NOT NULL,
  items jsonb NOT NULL DEFAULT '[]',
  count integer NOT NULL DEFAULT 0,
  due_at timestamptz,
  claimed jsonb,
  attempts smallint NOT NULL DEFAULT 0,
  sent_at timestamptz,
  CONSTRAINT guard_mails_pkey PRIMARY KEY (organization_id, account_id, about),
  CONSTRAINT guard_mails_organization_id_account_id_fkey FOREIGN KEY (organization_id, account_id) REFERENCES memberships(organization_id, account_id) ON DELETE CASCADE
);
CREATE INDEX guard_mails_due ON guard_mails (due_at) WHERE due_at IS NOT NULL; -- sending

CREATE TABLE schedules (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  project_id bigint NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  timezone text NOT NULL,
  layers jsonb NOT NULL,
  combine text NOT NULL,
  fallback text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  on_change text,
  test jsonb,
  test_due_at timestamptz,
  test_planned boolean NOT NULL DEFAULT false,
  page text,
  calendar_generation integer NOT NULL DEFAULT 0,
  groups jsonb,
  CONSTRAINT schedules_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT schedules_organization_id_project_id_slug_key UNIQUE (organization_id, project_id, slug),
  CONSTRAINT schedules_organization_id_project_id_fkey FOREIGN KEY (organization_id, project_id) REFERENCES projects(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX schedules_test_due ON schedules (test_due_at) WHERE test_due_at IS NOT NULL; -- test pages that are due

CREATE TABLE schedule_overrides (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  schedule_id bigint NOT NULL,
  user_id bigint NOT NULL,
  replaces text,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  CONSTRAINT schedule_overrides_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT schedule_overrides_organization_id_schedule_id_fkey FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT schedule_overrides_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX schedule_overrides_by_end ON schedule_overrides (organization_id, schedule_id, ends_at); -- overrides that are not over, and those of a time
CREATE INDEX schedule_overrides_by_user ON schedule_overrides (organization_id, user_id); -- deletion of a user
CREATE INDEX schedule_overrides_old ON schedule_overrides (ends_at); -- deletion of old ones

CREATE TABLE rotations (
  organization_id bigint NOT NULL,
  notification_id bigint NOT NULL,
  step smallint NOT NULL,
  turns bigint NOT NULL,
  CONSTRAINT rotations_pkey PRIMARY KEY (organization_id, notification_id, step),
  CONSTRAINT rotations_organization_id_notification_id_fkey FOREIGN KEY (organization_id, notification_id) REFERENCES notifications(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE verification_codes (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  user_id bigint NOT NULL,
  address_id bigint NOT NULL,
  sent_to text NOT NULL,
  code_hash text,
  attempts_left smallint NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT verification_codes_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT verification_codes_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);
CREATE INDEX verification_codes_by_address ON verification_codes (organization_id, address_id, id); -- confirming
CREATE INDEX verification_codes_old ON verification_codes (created_at); -- deletion of old ones
CREATE INDEX verification_codes_recent ON verification_codes (organization_id, created_at); -- limits

CREATE TABLE absences (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  user_id bigint NOT NULL,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  calendar_id bigint,
  CONSTRAINT absences_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT absences_calendar_fkey FOREIGN KEY (organization_id, calendar_id) REFERENCES absence_calendars(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT absences_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX absences_by_calendar ON absences (organization_id, calendar_id, ends_at) WHERE calendar_id IS NOT NULL; -- what a fetch replaces, and deletion of a calendar
CREATE INDEX absences_by_user ON absences (organization_id, user_id, ends_at); -- absences of a time, and deletion of a user
CREATE INDEX absences_old ON absences (ends_at); -- deletion of old ones

CREATE TABLE schedule_watches (
  organization_id bigint NOT NULL,
  schedule_id bigint NOT NULL,
  shifts jsonb,
  error text,
  due_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT schedule_watches_pkey PRIMARY KEY (organization_id, schedule_id),
  CONSTRAINT schedule_watches_organization_id_schedule_id_fkey FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX schedule_watches_due ON schedule_watches (due_at); -- schedules to look at

CREATE TABLE schedule_notices (
  organization_id bigint NOT NULL,
  id uuid NOT NULL,
  schedule_id bigint NOT NULL,
  context jsonb NOT NULL,
  recipients text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  due_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT schedule_notices_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT schedule_notices_organization_id_schedule_id_fkey FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX schedule_notices_by_schedule ON schedule_notices (organization_id, schedule_id); -- deletion of a schedule
CREATE INDEX schedule_notices_due ON schedule_notices (due_at); -- what is to be announced

CREATE TABLE schedule_swaps (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  schedule_id bigint NOT NULL,
  user_id bigint NOT NULL,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  message text,
  state text NOT NULL DEFAULT 'open',
  accepted_by_id bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  CONSTRAINT schedule_swaps_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT schedule_swaps_state_check CHECK (state = ANY (ARRAY['open', 'accepted', 'withdrawn'])),
  CONSTRAINT schedule_swaps_organization_id_accepted_by_id_fkey FOREIGN KEY (organization_id, accepted_by_id) REFERENCES users(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT schedule_swaps_organization_id_schedule_id_fkey FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules(organization_id, id) ON DELETE CASCADE,
  CONSTRAINT schedule_swaps_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX schedule_swaps_by_accepting ON schedule_swaps (organization_id, accepted_by_id) WHERE accepted_by_id IS NOT NULL; -- deletion of a user
CREATE INDEX schedule_swaps_by_schedule ON schedule_swaps (organization_id, schedule_id, id); -- swaps of a schedule
CREATE INDEX schedule_swaps_by_user ON schedule_swaps (organization_id, user_id); -- deletion of a user
CREATE INDEX schedule_swaps_old ON schedule_swaps (ends_at); -- deletion of old ones

CREATE TABLE test_pages (
  organization_id bigint NOT NULL,
  user_id bigint NOT NULL,
  occurrence_id uuid NOT NULL,
  sent_at timestamptz NOT NULL,
  pending boolean NOT NULL DEFAULT true,
  confirmed_at timestamptz,
  CONSTRAINT test_pages_pkey PRIMARY KEY (organization_id, user_id),
  CONSTRAINT test_pages_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE absence_calendars (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  user_id bigint NOT NULL,
  secrets bytea NOT NULL,
  host text NOT NULL,
  words text[] NOT NULL DEFAULT '{}'[],
  due_at timestamptz NOT NULL DEFAULT now(),
  etag text,
  last_modified text,
  read_at timestamptz,
  timezone text,
  skipped integer NOT NULL DEFAULT 0,
  is_cut boolean NOT NULL DEFAULT false,
  fetched_at timestamptz,
  error text,
  failing_since timestamptz,
  failures integer NOT NULL DEFAULT 0,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  CONSTRAINT absence_calendars_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT absence_calendars_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES users(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX absence_calendars_by_user ON absence_calendars (organization_id, user_id, id); -- calendars of a user, and deletion of a user
CREATE INDEX absence_calendars_due ON absence_calendars (due_at); -- calendars that are due
CREATE INDEX absence_calendars_failing ON absence_calendars (failing_since) WHERE failing_since IS NOT NULL; -- calendars that belfry doctor names

CREATE TABLE schedule_groups (
  organization_id bigint NOT NULL,
  schedule_id bigint NOT NULL,
  channel text NOT NULL,
  group_id text NOT NULL,
  wanted text[],
  members text[],
  member_ids text[],
  accounts jsonb NOT NULL DEFAULT '{}',
  left_out jsonb NOT NULL DEFAULT '[]',
  kept boolean NOT NULL DEFAULT false,
  updated_at timestamptz,
  error text,
  failing_since timestamptz,
  failures integer NOT NULL DEFAULT 0,
  due_at timestamptz,
  claimed_until timestamptz,
  claims integer NOT NULL DEFAULT 0,
  CONSTRAINT schedule_groups_pkey PRIMARY KEY (organization_id, schedule_id, channel, group_id),
  CONSTRAINT schedule_groups_organization_id_schedule_id_fkey FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX schedule_groups_due ON schedule_groups (due_at) WHERE due_at IS NOT NULL; -- groups to send
CREATE INDEX schedule_groups_failing ON schedule_groups (failing_since) WHERE failing_since IS NOT NULL; -- groups that doctor warns of

CREATE TABLE service_levels (
  organization_id bigint NOT NULL,
  day timestamptz NOT NULL,
  taken bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  pages_in_time bigint NOT NULL DEFAULT 0,
  pages_late bigint NOT NULL DEFAULT 0,
  CONSTRAINT service_levels_pkey PRIMARY KEY (organization_id, day)
);

CREATE TABLE service_level_writers (
  id uuid NOT NULL,
  batch bigint NOT NULL,
  written_at timestamptz NOT NULL,
  CONSTRAINT service_level_writers_pkey PRIMARY KEY (id)
);

CREATE TABLE watches (
  organization_id bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  application_id bigint NOT NULL,
  slug text NOT NULL,
  event text NOT NULL,
  every text NOT NULL,
  enabled boolean NOT NULL,
  secrets bytea,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT watches_pkey PRIMARY KEY (organization_id, id),
  CONSTRAINT watches_organization_id_application_id_slug_key UNIQUE (organization_id, application_id, slug),
  CONSTRAINT watches_organization_id_application_id_fkey FOREIGN KEY (organization_id, application_id) REFERENCES applications(organization_id, id) ON DELETE CASCADE
);

CREATE TABLE watch_states (
  organization_id bigint NOT NULL,
  watch_id bigint NOT NULL,
  occurrence_id uuid,
  began_at timestamptz,
  delivered_at timestamptz,
  pinged_at timestamptz,
  failing_since timestamptz,
  error text,
  due_at timestamptz,
  CONSTRAINT watch_states_pkey PRIMARY KEY (organization_id, watch_id),
  CONSTRAINT watch_states_organization_id_watch_id_fkey FOREIGN KEY (organization_id, watch_id) REFERENCES watches(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX watch_states_due ON watch_states (due_at) WHERE due_at IS NOT NULL; -- watches that are due

CREATE TABLE schedule_history (
  organization_id bigint NOT NULL,
  schedule_id bigint NOT NULL,
  replaced_at timestamptz NOT NULL,
  timezone text NOT NULL,
  layers jsonb NOT NULL,
  combine text NOT NULL,
  CONSTRAINT schedule_history_pkey PRIMARY KEY (organization_id, schedule_id, replaced_at),
  CONSTRAINT schedule_history_organization_id_schedule_id_fkey FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules(organization_id, id) ON DELETE CASCADE
);
CREATE INDEX schedule_history_old ON schedule_history (replaced_at); -- deletion of old ones

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

CREATE OR REPLACE FUNCTION announce_shifts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('belfry_shifts', '');
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

CREATE OR REPLACE FUNCTION count_first_page()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  is_in_time boolean := new.sent + new.unknown > 0 and new.first_page_at
    - greatest(new.due_at, (
        select max(released_at) from deliveries
        where organization_id = new.organization_id and occurrence_id = new.id and status in ('sent', 'unknown')), (
        select min(due_at) from steps
        where organization_id = new.organization_id and occurrence_id = new.id and number = 1))
    <= coalesce((
        select service_levels #>> '{first_page,within}' from organizations where id = new.organization_id), '10s')::interval;
begin
  if exists (
    select from watches w join events e on e.organization_id = w.organization_id and e.id = new.event_id
    where w.organization_id = new.organization_id and w.application_id = new.application_id and w.event = e.slug)
  then
    return null;
  end if;
  insert into service_levels as l (organization_id, day, pages_in_time, pages_late)
  values (new.organization_id, date_trunc('day', now(), 'UTC'), is_in_time::integer, (not is_in_time)::integer)
  on conflict (organization_id, day) do update set
    pages_in_time = l.pages_in_time + excluded.pages_in_time, pages_late = l.pages_late + excluded.pages_late;
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

CREATE OR REPLACE FUNCTION follow_schedule()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from schedule_groups g
  where g.organization_id = new.organization_id and g.schedule_id = new.id and not exists (
    select from jsonb_array_elements(coalesce(new.groups, '[]')) e
    where e ->> 'channel' = g.channel and e ->> 'group' = g.group_id);
  insert into schedule_groups (organization_id, schedule_id, channel, group_id)
  select new.organization_id, new.id, e ->> 'channel', e ->> 'group' from jsonb_array_elements(coalesce(new.groups, '[]')) e
  on conflict (organization_id, schedule_id, channel, group_id) do update set due_at = now()
  where schedule_groups.error is not null or schedule_groups.left_out <> '[]';
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

CREATE OR REPLACE FUNCTION keep_schedule()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  -- When the rules before these were replaced; other fields may have changed since.
  if current_setting('belfry.copying', true) = 'on' or now() - interval '1 minute' < coalesce((
    select max(replaced_at) from schedule_history
    where organization_id = old.organization_id and schedule_id = old.id), old.created_at)
  then
    return null;
  end if;
  insert into schedule_history (organization_id, schedule_id, replaced_at, timezone, layers, combine)
  values (old.organization_id, old.id, now(), old.timezone, old.layers, old.combine)
  on conflict do nothing;
  delete from schedule_history h
  where h.organization_id = old.organization_id and h.schedule_id = old.id and (
    select sum(octet_length(newer.layers::text)) from schedule_history newer
    where newer.organization_id = h.organization_id and newer.schedule_id = h.schedule_id and newer.replaced_at > h.replaced_at) > 65536;
  return null;
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
    when o.failed > 0 or o.reason in ('crashed', 'guard.expired') then
      case when o.sent + o.unknown > 0 then 'partly_failed' else 'failed' end
    when o.unknown > 0 then 'unknown'
    when o.reason in ('cancelled', 'guard.rejected')
      or (o.cancelled > 0 and (o.sent = 0 or o.cancelled_at is not null)) then 'cancelled'
    when o.expired > 0 or o.reason = 'expired' then 'expired'
    when o.sent > 0 then 'sent'
    when o.suppressed = 0 and (o.reason is null or o.reason in ('no_recipients', 'schedule.no_one', 'occurrence.not_open')
      or starts_with(o.reason, 'limit.')) then 'no_recipients'
    else 'suppressed'
  end;
end $function$;

CREATE OR REPLACE FUNCTION plan_test_pages()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.test_due_at := case when new.test is not null then now() end;
  new.test_planned := false;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION plan_watch()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into watch_states (organization_id, watch_id, due_at)
  values (new.organization_id, new.id, case when new.enabled then now() end)
  on conflict (organization_id, watch_id) do update set due_at = excluded.due_at, occurrence_id = null, began_at = null;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION retry_groups()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update schedule_groups set due_at = now()
  where organization_id = new.organization_id and channel = new.slug and error is not null;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION verify_address()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.verified_at := case when lower(new.name) in ('push', 'webpush') and starts_with(new.value, '{') then now() end;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION watch_override()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update schedule_watches set due_at = now()
  where organization_id = coalesce(new.organization_id, old.organization_id)
    and schedule_id = coalesce(new.schedule_id, old.schedule_id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION watch_schedule()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.on_change is null and new.groups is null then
    delete from schedule_watches where organization_id = new.organization_id and schedule_id = new.id;
  else
    insert into schedule_watches (organization_id, schedule_id) values (new.organization_id, new.id)
    on conflict (organization_id, schedule_id) do update set due_at = now(), error = null;
  end if;
  return null;
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
CREATE TRIGGER retry_groups AFTER UPDATE OF providers, secrets, enabled ON channels
  FOR EACH ROW WHEN (old.providers IS DISTINCT FROM new.providers OR old.secrets IS DISTINCT FROM new.secrets OR old.enabled IS DISTINCT FROM new.enabled) EXECUTE FUNCTION retry_groups();
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
CREATE TRIGGER forget_verified BEFORE UPDATE OF name, value ON addresses
  FOR EACH ROW WHEN (old.name IS DISTINCT FROM new.name OR old.value IS DISTINCT FROM new.value) EXECUTE FUNCTION verify_address();
CREATE TRIGGER verify_device BEFORE INSERT ON addresses
  FOR EACH ROW WHEN (new.verified_at IS NULL AND (lower(new.name) = ANY (ARRAY['push'::text, 'webpush'::text])) AND starts_with(new.value, '{'::text)) EXECUTE FUNCTION verify_address();
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
CREATE TRIGGER count_first_page AFTER UPDATE ON occurrences
  FOR EACH ROW WHEN (old.first_page_at IS NULL AND new.first_page_at = statement_timestamp()) EXECUTE FUNCTION count_first_page();
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
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON sources
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON heartbeats
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON silences
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON schedules
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER follow_added AFTER INSERT ON schedules
  FOR EACH ROW WHEN (new.groups IS NOT NULL) EXECUTE FUNCTION follow_schedule();
CREATE TRIGGER follow_changed AFTER UPDATE ON schedules
  FOR EACH ROW WHEN (new.groups IS NOT NULL OR old.groups IS NOT NULL) EXECUTE FUNCTION follow_schedule();
CREATE TRIGGER keep_replaced AFTER UPDATE ON schedules
  FOR EACH ROW WHEN (old.timezone IS DISTINCT FROM new.timezone OR old.layers IS DISTINCT FROM new.layers OR old.combine IS DISTINCT FROM new.combine) EXECUTE FUNCTION keep_schedule();
CREATE TRIGGER plan_first_test BEFORE INSERT ON schedules
  FOR EACH ROW WHEN (new.test IS NOT NULL) EXECUTE FUNCTION plan_test_pages();
CREATE TRIGGER plan_next_test BEFORE UPDATE OF test, timezone ON schedules
  FOR EACH ROW WHEN (old.test IS DISTINCT FROM new.test OR old.timezone IS DISTINCT FROM new.timezone) EXECUTE FUNCTION plan_test_pages();
CREATE TRIGGER watch_added AFTER INSERT ON schedules
  FOR EACH ROW WHEN (new.on_change IS NOT NULL OR new.groups IS NOT NULL) EXECUTE FUNCTION watch_schedule();
CREATE TRIGGER watch_changed AFTER UPDATE ON schedules
  FOR EACH ROW WHEN (COALESCE(new.on_change, old.on_change) IS NOT NULL OR COALESCE(new.groups, old.groups) IS NOT NULL) EXECUTE FUNCTION watch_schedule();
CREATE TRIGGER announce_change AFTER INSERT OR DELETE OR UPDATE ON schedule_overrides
  FOR EACH ROW EXECUTE FUNCTION announce_change();
CREATE TRIGGER watch_override AFTER INSERT OR DELETE OR UPDATE ON schedule_overrides
  FOR EACH ROW EXECUTE FUNCTION watch_override();
CREATE TRIGGER announce_shifts AFTER INSERT OR UPDATE OF due_at ON schedule_watches
  FOR EACH ROW WHEN (new.due_at <= now()) EXECUTE FUNCTION announce_shifts();
CREATE TRIGGER announce_shifts AFTER INSERT OR UPDATE OF due_at ON schedule_notices
  FOR EACH ROW WHEN (new.due_at <= now()) EXECUTE FUNCTION announce_shifts();
CREATE TRIGGER announce_shifts AFTER INSERT OR UPDATE OF due_at ON schedule_groups
  FOR EACH ROW WHEN (new.due_at <= now()) EXECUTE FUNCTION announce_shifts();
CREATE TRIGGER plan_watch AFTER INSERT OR UPDATE OF event, every, enabled ON watches
  FOR EACH ROW EXECUTE FUNCTION plan_watch();
