-- People who sign in. One account may belong to several organizations, so accounts and their sessions are no tenant's.
create table accounts (
  id bigint generated always as identity primary key,
  -- In lower case.
  email text not null unique,
  -- That the address is theirs is known: from the operator, or from an identity provider.
  email_verified boolean not null default false,
  name text not null default '',
  -- Argon2id as a PHC string; null for those who sign in by an identity provider alone.
  password_hash text,
  -- An operator of the whole instance: reaches every organization and may create them.
  admin boolean not null default false,
  -- Who this is to the identity provider.
  oidc_issuer text,
  oidc_subject text,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz,
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
  -- SHA-256 of what the cookie holds.
  token_hash bytea primary key,
  account_id bigint not null references accounts on delete cascade,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  -- However much it is used.
  expires_at timestamptz not null,
  user_agent text,
  origin text
);
create index sessions_by_account on sessions (account_id);

-- Of emails, whether or not they belong to an account: a refusal must not tell.
create table sign_in_attempts (
  -- SHA-256: people type passwords into the wrong field.
  email_hash bytea primary key,
  attempts integer not null,
  since timestamptz not null default now(),
  locked_until timestamptz
);

create table invites (
  organization_id bigint not null references organizations on delete cascade,
  id bigint generated always as identity,
  -- SHA-256 of what the link holds.
  token_hash bytea not null,
  -- In lower case.
  email text not null,
  role text not null,
  -- Name of the account or key.
  invited_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (organization_id, id),
  unique (organization_id, email)
);
create index invites_by_token on invites (token_hash);
create index invites_by_email on invites (email);

-- Sessions are kept in memory with what their account may do; what changes that is told to every process.
create function announce_account() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('belfry_changed', 'account ' || coalesce(changed ->> 'account_id', changed ->> 'id'));
  return null;
end $$;

create trigger announce_account after update of email, name, password_hash, admin or delete on accounts
  for each row execute function announce_account();
create trigger announce_account after insert or update or delete on memberships
  for each row execute function announce_account();
create trigger announce_account after delete on sessions
  for each row execute function announce_account();
