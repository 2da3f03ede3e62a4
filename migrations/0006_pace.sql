-- A channel with a rate sends at an even pace: who asks is given the next free moments. A bucket of tokens let twice the
-- rate through in one second.
alter table channel_rates
  drop column tokens,
  drop column refilled_at,
  -- The first moment that nobody has been given yet.
  add column next_at timestamptz not null default '-infinity',
  -- How many moments were given to whoever asked last.
  add column granted integer not null default 0;
