/**
 * Stores triggers that were decided first: each occurrence in the state after its only page of recipients, together with the deliveries
 * that the worker has claimed by storing them. Usually that is one statement. It leaves out triggers that are stored already, whose
 * idempotency key is taken, or whose organization moves to another cell.
 */
import type pg from 'pg';
import type { OccurrenceOutcome } from '../../../core/decision/outcome.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import type { NewDelivery } from '../deliver/deliveries.ts';
import { type ExpansionPage, hasMore, type StoredPages, stateAfter, storeMoreAcrossTenants } from '../expand/expand.ts';
import {
  claimedDeliveries,
  newDeliveryValues,
  pairWithIds,
  storeDeliveriesText,
  storedIdsText,
} from '../expand/new-deliveries.ts';
import { monthly, queryMonthAcrossTenants } from '../months.ts';
import { stoppedText } from '../moving-text.ts';
import { completedColumns, completionEventsText } from '../webhooks/events.ts';
import { acceptText, type NewOccurrence } from './accept.ts';

// Its first part locks the tables in the same order as a transaction for the ledger does.
const storeDecided = monthly({
  name: 'store_decided',
  text: tables => `
    with tables as (select from ${tables.deliveries} where false),
    ${acceptText({
      occurrences: tables.occurrences,
      condition: `organization_id <> all(${stoppedText})`,
      returning: `${completedColumns}, case when o.status = 'completed' then o.outcome end as outcome`,
    })}, ${completionEventsText('accepted')},
    ${storeDeliveriesText({
      owner: '$2',
      first: 3,
      condition: 'where g.occurrence_id = any(array(select id from accepted))',
      deliveries: tables.deliveries,
    })}
    select ${storedIdsText}, array(select id from stored) as inserted, array(select id from accepted) as accepted,
      array(select outcome from accepted) as outcomes`,
});

export interface DecidedTrigger<Planned extends NewDelivery> {
  trigger: NewOccurrence;
  page: ExpansionPage<Planned>;
}

/** Returns what was stored, with the ids of the occurrences. */
export async function storeDecidedAcrossTenants<Planned extends NewDelivery>(
  pool: pg.Pool,
  owner: number,
  decided: DecidedTrigger<Planned>[],
): Promise<StoredPages<Planned> & { accepted: Set<string> }> {
  const pages = decided.map(({ page }) => page);
  const triggers = decided.map(({ trigger, page }) => ({ ...trigger, ...stateAfter(page) }));
  const values = [JSON.stringify(triggers), owner, ...newDeliveryValues(pages)];
  type Row = { stored_at: Date; ids: string[]; inserted: string[]; accepted: string[]; outcomes: OccurrenceOutcome[] };
  const { rows } = pages.some(hasMore)
    ? await inLedgerTransaction(pool, async client => {
        const result = await client.query<Row>({ ...storeDecided.parent, values });
        const accepted = new Set(result.rows[0]!.accepted);
        await storeMoreAcrossTenants(
          client,
          pages.filter(({ id }) => accepted.has(id)),
        );
        return result;
      })
    : await queryMonthAcrossTenants<Row>(
        pool,
        storeDecided,
        pages.map(({ id }) => id),
        values,
      );
  const { stored_at, ids, inserted, accepted, outcomes } = rows[0]!;
  const paired = pairWithIds(pages, ids, inserted);
  const stored = pages.flatMap((page, i) => claimedDeliveries(page, paired[i]!, { owner, at: stored_at }));
  return { stored, ended: outcomes.filter(outcome => outcome !== null), accepted: new Set(accepted) };
}
