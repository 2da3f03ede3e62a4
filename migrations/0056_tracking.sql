-- Whether Belfry records opens and clicks of emails in this category.
alter table categories add column track boolean not null default false;
