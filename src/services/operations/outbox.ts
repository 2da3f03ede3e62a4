/**
 * Triggers from the outboxes in applications' own databases. A row carries the id of its future occurrence. It is stored
 * here, then deleted there; if the delete is lost, storing it again has no effect. Rows with the same key are stored in
 * order.
 */
import type pg from 'pg';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { type OutboxSource, refuseId, refuseTime } from '../../core/operations/outbox.ts';
import { parse } from '../../core/schema.ts';
import { TriggerBody, type TriggerOptions } from '../../core/trigger.ts';
import { isUnavailable } from '../../db/connection/pool.ts';
import * as rows from '../../db/operations/outbox.ts';
import { outboxSchema } from '../../db/operations/outbox-schema.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { resolveEventPath } from '../configuration/events.ts';
import type { Deps } from '../deps.ts';
import { triggerEvent } from '../history/triggers.ts';

const maxPerBatch = 500;

export interface DrainResult {
  done: number[];
  failed: rows.OutboxFailure[];
  /** Why the other rows had to stay for now. */
  blocked: AppError | undefined;
  /** Whether more rows may be waiting. */
  hasMore: boolean;
}

export class Outbox {
  static readonly schema = outboxSchema.trim();
  readonly source: OutboxSource;
  readonly #pool: pg.Pool;

  constructor(source: OutboxSource, onError: (error: Error) => void = () => {}, queryTimeoutMs?: number) {
    this.source = source;
    this.#pool = rows.openOutbox(source.url, onError, queryTimeoutMs);
  }

  /** Allows `role` to call `belfry.notify`, and nothing else. */
  install(role: string | undefined): Promise<void> {
    return rows.installOutbox(this.#pool, role);
  }

  readState(): Promise<rows.OutboxState> {
    return rows.readOutboxState(this.#pool);
  }

  /** Drains one batch. Returns undefined while another process drains this outbox. */
  drain(deps: Deps): Promise<DrainResult | undefined> {
    return rows.drainOutbox(this.#pool, maxPerBatch, async (taken, hasMore) => {
      const drained: DrainResult = { done: [], failed: [], blocked: undefined, hasMore };
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

async function triggerInOrder(deps: Deps, organization: string, group: rows.OutboxRow[], drained: DrainResult) {
  for (const row of group) {
    try {
      await triggerRow(deps, organization, row);
      drained.done.push(row.seq);
    } catch (error) {
      if (!isFaultOfRow(error)) {
        drained.blocked = toBlockedError(error);
        return;
      }
      drained.failed.push({ seq: row.seq, error: error.message });
    }
  }
}

async function triggerRow(deps: Deps, org: string, { id, event, context, options, created_at }: rows.OutboxRow) {
  const refused = refuseTime(created_at, currentTime()) ?? refuseId(id, created_at!);
  if (refused) throw new AppError('request.invalid', refused);
  if (context === null || options === null) {
    throw new AppError('request.invalid', 'context and options must not exceed 1,000,000 bytes together');
  }
  const [prj, app, evt] = event.split('/') as [string, string, string];
  const path = await resolveEventPath(deps, { org, prj, app, evt });
  const body = parse(TriggerBody, { context, options }) as { context: JsonObject; options: TriggerOptions };
  await triggerEvent(deps, path, { ...body, id });
}

/** A missing organization is not the row's fault: it may be created later. */
function isFaultOfRow(error: unknown): error is AppError {
  if (!(error instanceof AppError) || error.code === 'organization.not_found') return false;
  return ['invalid', 'not_found', 'conflict'].includes(error.kind);
}

function toBlockedError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (!isUnavailable(error)) throw error;
  return new AppError('service.unavailable', `the database cannot be reached: ${(error as Error).message}`);
}
