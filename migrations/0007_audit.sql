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
  -- As it was called then.
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
