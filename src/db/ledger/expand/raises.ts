/**
 * The severity of an occurrence rises: an alert of it became more serious, or a more serious one joined it. It then has the context of
 * that alert. The condition on the severity makes a repetition harmless.
 */
import type pg from 'pg';
import type { JsonObject } from '../../../core/json.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { isRaisedText, raiseText } from '../context-text.ts';
import { keepKeyOpen, type PlannedRound, planNextRounds, recordResponse } from '../steps/rounds.ts';

export interface RaisableOccurrence {
  id: string;
  event_id: number;
  context: JsonObject;
  options: JsonObject;
  is_acknowledged: boolean;
}

/** Returns those of the occurrences that have not ended, in any order. */
export async function findRaisable(
  pool: pg.Pool,
  organizationId: number,
  ids: readonly string[],
): Promise<RaisableOccurrence[]> {
  const { rows } = await pool.query<RaisableOccurrence>({
    name: 'find_raisable_occurrences',
    text: `
      select o.id, o.event_id, o.context, o.options, o.acknowledged_at is not null as is_acknowledged
      from unnest($2::uuid[]) as wanted (id), lateral (
        select * from occurrences o where o.organization_id = $1 and o.id = wanted.id offset 0
      ) o
      where o.resolved_at is null and o.cancelled_at is null`,
    values: [organizationId, ids],
  });
  return rows;
}

interface Raise {
  context: JsonObject;
  /** The source. */
  by: string;
  /** The notifications whose steps may begin now; those that have begun go on. */
  rounds: readonly PlannedRound[];
  openUntil: Date | undefined;
  awaitsAcknowledgement: boolean;
}

/** Raises the severity of an occurrence that no one has acknowledged. Returns whether it rose. */
export async function raiseOpenOccurrence(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  { context, by, rounds, openUntil, awaitsAcknowledgement }: Raise,
): Promise<boolean> {
  return inLedgerTransaction(pool, async client => {
    if (openUntil) await keepKeyOpen(client, organizationId, id, openUntil);
    const { rows } = await client.query<{ is_expanded: boolean }>(
      `update occurrences o set ${raiseText('$3')}
       where o.organization_id = $1 and o.id = $2 and o.acknowledged_at is null and o.resolved_at is null and o.cancelled_at is null
         and ${isRaisedText('$3')}
       returning o.status not in ('accepted', 'expanding') as is_expanded`,
      [organizationId, id, JSON.stringify(context)],
    );
    if (!rows[0]) return false;
    // Otherwise all of its steps begin when it is expanded.
    if (rows[0].is_expanded) {
      const begun = await planNextRounds(client, organizationId, id, rounds, 'unbegun');
      if (begun > 0 && awaitsAcknowledgement) {
        await client.query(
          'update occurrences set awaits_acknowledgement = true where organization_id = $1 and id = $2',
          [organizationId, id],
        );
      }
    }
    await recordResponse(client, organizationId, id, { kind: 'severity_rose', by });
    return true;
  });
}
