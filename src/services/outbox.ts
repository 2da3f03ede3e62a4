/**
 * Triggers from applications' own databases. A row is an occurrence whose identifier was given out with it: it is stored
 * here, then deleted there, and where the second is lost the first does nothing when it is done again. Rows of one key
 * are stored one after the other.
 */
import type pg from 'pg';
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { type OutboxSource, refuseTime } from '../core/outbox.ts';
import { parse } from '../core/schema.ts';
import { TriggerBody, type TriggerOptions } from '../core/trigger.ts';
import * as rows from '../db/outbox.ts';
import { outboxSchema } from '../db/outbox-schema.ts';
import { isUnavailable } from '../db/pool.ts';
import type { Deps } from './deps.ts';
import { getEventPlace, triggerEvent } from './events.ts';

const mostPerBatch = 500;

export interface Drained {
  done: number[];
  failed: rows.OutboxFailure[];
  /** Why the rest had to stay for now. */
  blocked: AppError | undefined;
  /** There may be more. */
  isFull: boolean;
}

export class Outbox {
  static readonly schema = outboxSchema.trim();
  readonly source: OutboxSource;
  readonly #pool: pg.Pool;

  constructor(source: OutboxSource, onError: (error: Error) => void = () => {}) {
    this.source = source;
    this.#pool = rows.openOutbox(source.url, onError);
  }

  /** `role` may then notify, and do nothing else with it. */
  install(role: string | undefined): Promise<void> {
    return rows.installOutbox(this.#pool, role);
  }

  readState(): Promise<rows.OutboxState> {
    return rows.readOutboxState(this.#pool);
  }

  /** One batch. Undefined when another process is at it. */
  drain(deps: Deps): Promise<Drained | undefined> {
    return rows.drainOutbox(this.#pool, mostPerBatch, async taken => {
      const drained: Drained = { done: [], failed: [], blocked: undefined, isFull: taken.length === mostPerBatch };
      const byKey = Map.groupBy(taken, ({ key, seq }) => key ?? seq);
      await Promise.all(
        [...byKey.values()].map(group => triggerInOrder(deps, this.source.organization, group, drained)),
      );
      return drained;
    });
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

async function triggerInOrder(
  deps: Deps,
  organization: string,
  group: rows.OutboxRow[],
  drained: Drained,
): Promise<void> {
  for (const row of group) {
    try {
      await triggerRow(deps, organization, row);
      drained.done.push(row.seq);
    } catch (error) {
      if (!isRowsFault(error)) {
        drained.blocked = asBlocked(error);
        return;
      }
      drained.failed.push({ seq: row.seq, error: error.message });
    }
  }
}

async function triggerRow(deps: Deps, org: string, { id, event, context, options, created_at }: rows.OutboxRow) {
  const refused = refuseTime(created_at, Date.now());
  if (refused) throw new AppError('request.invalid', refused);
  const [prj, app, evt] = event.split('/') as [string, string, string];
  const place = await getEventPlace(deps, { org, prj, app, evt });
  const body = parse(TriggerBody, { context, options }) as { context: JsonObject; options: TriggerOptions };
  await triggerEvent(deps, place, { ...body, id });
}

/** The organization itself may only be missing yet: that is nothing that a row could be blamed for. */
function isRowsFault(error: unknown): error is AppError {
  if (!(error instanceof AppError) || error.code === 'organization.not_found') return false;
  return ['invalid', 'not_found', 'conflict'].includes(error.kind);
}

function asBlocked(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (!isUnavailable(error)) throw error;
  return new AppError('service.unavailable', `the database cannot be reached: ${(error as Error).message}`);
}
