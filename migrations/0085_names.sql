drop view wordings;
alter table deliveries rename column wording to snapshot_id;
alter table render_snapshots rename constraint wordings_pkey to render_snapshots_pkey;
alter table render_snapshots rename constraint wordings_organization_id_fkey to render_snapshots_organization_id_fkey;
alter table steps rename column told to messages;

drop trigger keep_max_per_day on organizations;
drop function keep_max_per_day();
alter table organizations drop column most_per_day;
drop trigger keep_max on notifications;
drop function keep_max();
drop function with_max(jsonb, jsonb);
update notifications set throttle = throttle - 'most', digest = digest - 'most'
where throttle ? 'most' or digest ? 'most';
