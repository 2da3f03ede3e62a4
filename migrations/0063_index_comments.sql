-- What each index of the ledger is for. Every one costs an entry for each message, or for each change of it.
comment on index occurrences_by_correlation is 'lists of occurrences with a correlation id';
comment on index occurrences_by_outcome is 'lists of occurrences with an outcome, and the overview';
comment on index occurrences_continued is 'claims of further pages of a fan-out';
comment on index occurrences_due is 'claims of accepted occurrences';
comment on index occurrences_expanding is 'recovery of what a dead worker was expanding';
comment on index occurrences_held is 'release when a pause ends';
comment on index occurrences_unacknowledged is 'the board of escalations';
comment on index deliveries_by_provider_id is 'feedback of services that report only their own id';
comment on index deliveries_by_user is 'the history of a user';
comment on index deliveries_due is 'claims of pending deliveries and retries';
comment on index deliveries_failed is 'failures by cause, and replays';
comment on index deliveries_held is 'release when a pause ends';
comment on index deliveries_of_digest is 'items of a digest';
comment on index deliveries_of_steps is 'who was notified by earlier steps';
comment on index deliveries_once is 'no second delivery when a page is stored again';
comment on index deliveries_sandboxed is 'messages in the sandbox';
comment on index deliveries_sending is 'recovery of what a dead worker was sending';
comment on index deliveries_suppressed is 'counts of suppressed deliveries by reason';
