-- What the context of an event must look like: a JSON Schema, kept as it was written, order included. Null: anything.
alter table events add column context_schema json;
