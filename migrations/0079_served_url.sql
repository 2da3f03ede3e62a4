-- Where the server that started last is reached, for links that commands print. Null: no server has recorded it. Empty: it does not
-- know its address, because it listens on other interfaces than loopback and BASE_URL is not set.
alter table instance add column served_url text;
