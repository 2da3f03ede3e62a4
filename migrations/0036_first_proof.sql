-- Raised whenever the sessions of an account are ended: a sign-in that began before then opens none.
alter table accounts add column generation integer not null default 0;

-- Whether the link was sent by mail and shown to no one else: then using it proves that the address is one's own.
alter table invites add column mailed boolean not null default false;
