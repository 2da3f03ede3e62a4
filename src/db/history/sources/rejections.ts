/** Reports that a source rejects what it receives, at most once an hour. */
import { CompiledQuery } from 'kysely';
import type { Db } from '../../connection/pool.ts';
import { guardMailsText } from '../../ledger/guard-mails.ts';
import { sourceEventsText } from '../../ledger/webhooks/events.ts';

interface Rejection {
  /** Id of the payload. */
  payload: string;
  state: 'partly' | 'rejected' | 'refused';
  error: string;
}

// Of requests that are rejected at the same moment, one updates the row.
const report = `
    with due as (
      update sources s set rejection_reported_at = now()
      where s.organization_id = $1 and s.id = $2
        and (s.rejection_reported_at is null or s.rejection_reported_at <= now() - interval '1 hour')
      returning s.organization_id, s.application_id, s.slug
    ), rejecting as (
      select d.organization_id, concat_ws('/', p.slug, a.slug, d.slug) as path, $3::uuid as payload, $4::text as state, $5::text as error
      from due d
      join applications a on a.organization_id = d.organization_id and a.id = d.application_id
      join projects p on p.organization_id = a.organization_id and p.id = a.project_id
    ), ${sourceEventsText('rejecting')}, reported as (
      select organization_id, jsonb_build_object('kind', 'rejected', 'path', path, 'state', state, 'error', error) as item
      from rejecting
    ), ${guardMailsText('reported', 'sources')}
    select 1 from due`;

/** Queues `source.rejected` for webhooks, and mails to members who may change the source, unless that was done within the hour. */
export async function reportRejection(
  db: Db,
  organizationId: number,
  sourceId: number,
  { payload, state, error }: Rejection,
): Promise<void> {
  await db.executeQuery(CompiledQuery.raw(report, [organizationId, sourceId, payload, state, error]));
}
