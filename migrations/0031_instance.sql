-- Which database this is, as it was when it was last recognised: a restored or cloned one differs, and then nothing is sent
-- until an operator has said which of the two is the real one (core/instance.ts has the rules). One row, made by the first
-- process that serves. It has no primary key on purpose: tools that rewrite tables, such as pg_repack, leave those without
-- one alone, and a rewritten row would look like a restored one.
create table instance (
  -- The transaction that wrote this row. A dump restores the number, and not the transaction: then the row's xmin differs.
  xid bigint not null,
  -- The oid of this table and of the database; and the server's identifier, where it may be asked.
  relation bigint not null,
  database bigint not null,
  system text,
  server_major integer not null,
  -- Counted up whenever a standby or a restored server takes over.
  timeline bigint,
  -- By which the processes reached it: host, port and name.
  addresses text[] not null default '{}',
  -- BELFRY_INSTANCE.
  name text,
  -- Of the embedded database: when its files were made.
  files_made_at timestamptz,
  -- When a process last said that it works on this database.
  seen_at timestamptz not null default now(),
  -- What came later was triggered here, and not restored.
  paused_at timestamptz,
  paused_reason text
);
create unique index instance_once on instance ((true));
