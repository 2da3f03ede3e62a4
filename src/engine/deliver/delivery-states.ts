/** Reads what a delivery is checked against before it is sent, for many deliveries at once. */
import type pg from 'pg';
import { findRecipientsAcrossTenants, type RecipientRecord } from '../../db/audience/recipients.ts';
import { findOccurrencesAcrossTenants, type OccurrenceFacts } from '../../db/history/occurrences.ts';
import type { Delivery } from '../../db/ledger/deliver/deliveries.ts';
import { Batcher } from '../../lib/load/batcher.ts';
import type { Plans } from '../../pipeline/plans.ts';
import { markSuppressed } from '../../pipeline/suppressions.ts';

/** Undefined where something has been deleted. */
export interface DeliveryState {
  occurrence: OccurrenceFacts | undefined;
  recipient: RecipientRecord | undefined;
}

interface StateDeps {
  pool: pg.Pool;
  plans: Pick<Plans, 'suppresses'>;
}

const maxPerBatch = 500;

/** Reads the current state of deliveries, many at once. */
export function createStateReader(deps: StateDeps): Batcher<Delivery, DeliveryState> {
  return new Batcher<Delivery, DeliveryState>(deliveries => readStates(deps, deliveries), {
    maxPerBatch,
  });
}

export async function readStates(deps: StateDeps, deliveries: Delivery[]): Promise<DeliveryState[]> {
  if (deliveries.length === 0) return [];
  const { pool } = deps;
  const byOccurrence = new Map(deliveries.map(one => [occurrenceKey(one), one]));
  const byUser = new Map(deliveries.map(one => [userKey(one), one]));
  const [occurrences, recipients] = await Promise.all([
    findOccurrencesAcrossTenants(
      pool,
      [...byOccurrence.values()].map(one => ({ organizationId: one.organization_id, id: one.occurrence_id })),
    ),
    findRecipientsAcrossTenants(
      pool,
      [...byUser.values()].map(one => ({ organizationId: one.organization_id, userId: one.user_id })),
    ),
  ]);
  await markSuppressed(deps, recipients);
  const occurrenceByKey = new Map(occurrences.map(row => [`${row.organization_id}/${row.id}`, row]));
  const recipientByKey = new Map(recipients.map(row => [`${row.organization_id}/${row.user_id}`, row]));
  return deliveries.map(one => ({
    occurrence: occurrenceByKey.get(occurrenceKey(one)),
    recipient: recipientByKey.get(userKey(one)),
  }));
}

const occurrenceKey = (delivery: Delivery) => `${delivery.organization_id}/${delivery.occurrence_id}`;
const userKey = (delivery: Delivery) => `${delivery.organization_id}/${delivery.user_id}`;
