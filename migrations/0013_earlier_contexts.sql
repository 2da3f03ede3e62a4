-- The contexts that an occurrence had until its severity rose, oldest first: messages that were created before are shown with them.
alter table occurrences add column earlier_contexts jsonb;
