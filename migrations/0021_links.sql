-- Links that work without an account: raised, the number revokes every link and token that the person was given.
alter table users add column link_generation integer not null default 0;

-- How the pages look that recipients see.
alter table organizations
  add column brand_color text,
  add column logo_url text;
