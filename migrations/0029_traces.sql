-- Where an occurrence stands in a trace (W3C Trace Context), so that whoever works on it later, in whatever process, goes on with
-- the same one. Null: there is none.
alter table occurrences add column traceparent text;
