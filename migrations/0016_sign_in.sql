-- Second factors, passwords that are reset by mail, and limits on guessing that cannot be used to lock somebody out.
-- Accounts are no tenant's, and neither is what belongs to them.

alter table organizations add column two_factor_required boolean not null default false;

alter table accounts
  -- What the authenticator app shares with us, sealed; null without one.
  add column totp_secret bytea,
  add column totp_added_at timestamptz,
  -- The time step of the last code that was taken: a code works once.
  add column totp_last_step bigint;

create table passkeys (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  credential_id bytea not null unique,
  -- COSE.
  public_key bytea not null,
  -- Of signatures; one that does not grow means a copy. Many authenticators always say 0.
  counter bigint not null,
  -- How the browser can reach it: usb, nfc, internal, hybrid, …
  transports text[] not null,
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkeys_by_account on passkeys (account_id);

create table recovery_codes (
  account_id bigint not null references accounts on delete cascade,
  -- SHA-256 of the code without its dashes.
  code_hash bytea not null,
  primary key (account_id, code_hash)
);

create table password_resets (
  -- SHA-256 of what the link holds.
  token_hash bytea primary key,
  account_id bigint not null references accounts on delete cascade,
  expires_at timestamptz not null
);
create index password_resets_by_account on password_resets (account_id);

-- Of sign-ins that have ended well: until then a challenge is with the browser alone, sealed.
create table used_challenges (
  -- SHA-256.
  challenge_hash bytea primary key,
  expires_at timestamptz not null
);

-- How often somebody guessed. Takes the place of sign_in_attempts, which processes of the version before still use: a
-- later migration drops that one.
create table sign_in_limits (
  -- SHA-256 of an email, whether or not it belongs to an account: a refusal must not tell.
  email_hash bytea not null,
  -- What is guessed and from where: a network, a known device, or anywhere.
  scope text not null,
  attempts integer not null,
  since timestamptz not null default now(),
  locked_until timestamptz,
  primary key (email_hash, scope)
);

alter table sessions
  -- What its owner knows it by.
  add column id bigint generated always as identity unique,
  -- password, passkey or oidc
  add column method text not null default 'password',
  -- When the person last proved who they are: what weakens an account asks for a recent proof.
  add column confirmed_at timestamptz not null default now();

drop trigger announce_account on accounts;
create trigger announce_account after update of email, name, password_hash, admin, totp_secret or delete on accounts
  for each row execute function announce_account();
create trigger announce_account after insert or delete on passkeys
  for each row execute function announce_account();
