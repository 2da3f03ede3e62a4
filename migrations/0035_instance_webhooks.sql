-- A webhook that the operator has widened is told of what happens in every organization.
alter table webhooks add column instance_wide boolean not null default false;
create index webhooks_instance_wide on webhooks (organization_id, id) where active and instance_wide;
