-- When each worker last finished a round of its work: `belfry doctor` tells a worker that fails every round by it. Written
-- every ten seconds; unlogged, for after a crash of the server no worker is left whose time would matter.
create unlogged table worker_rounds (
  worker_id bigint primary key,
  finished_at timestamptz not null
);
