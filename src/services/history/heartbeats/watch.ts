/**
 * Triggers the events of heartbeats that are missing, and resolves their occurrences when they are back. Every process does so; the
 * database gives each heartbeat to one of them. A process sleeps until the next one is due, so that an idle service asks rarely.
 */
import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import type { HeartbeatReason } from '../../../core/heartbeats/state.ts';
import { type Actor, commandLine } from '../../../core/identity/actor.ts';
import type { JsonObject } from '../../../core/json.ts';
import {
  type ActionResult,
  type ClaimedHeartbeat,
  claimDueAcrossTenants,
  findNextDueAcrossTenants,
  noteReceivingAcrossTenants,
  postponeAction,
  receivingEveryMs,
  settleActionsAcrossTenants,
} from '../../../db/history/heartbeats/due.ts';
import type { Batcher } from '../../../lib/load/batcher.ts';
import { blockedMs, dueRound, PollLoop } from '../../../lib/process/poll-loop.ts';
import type { Deps } from '../../deps.ts';
import { resolve } from '../acknowledgements/acknowledgements.ts';
import { createBatcher } from '../sources/source-store.ts';
import { requireEvent, triggerEvent } from '../triggers.ts';

const maxClaimed = 500;
/** Until an action is repeated that failed for a limit, and one that fails until someone corrects the configuration. */
const againSeconds = { limited: 5, refused: 60 };

export interface WatchOptions {
  isPaused: () => boolean;
  /** Whether this process receives calls. */
  receives: boolean;
}

export class HeartbeatWatch {
  readonly #deps: Deps;
  readonly #log: FastifyBaseLogger;
  readonly #options: WatchOptions;
  readonly #results: Batcher<ActionResult, undefined>;
  readonly #loop: PollLoop;
  #receiving: NodeJS.Timeout | undefined;

  constructor(deps: Deps, log: FastifyBaseLogger, options: WatchOptions) {
    this.#deps = deps;
    this.#log = log;
    this.#options = options;
    this.#results = createBatcher(items => settleActionsAcrossTenants(deps.pool, items));
    const round = dueRound({
      isPaused: options.isPaused,
      findNextDue: withinMs => findNextDueAcrossTenants(deps.pool, withinMs),
      processDue: () => this.#actOnDue(),
    });
    this.#loop = new PollLoop(round, { log, task: 'looking for missing heartbeats', everyMs: blockedMs });
  }

  /** Call it when calls can be received. An outage that has ended is recorded before anything is found to be missing. */
  async start(): Promise<void> {
    if (this.#options.receives) {
      await this.#noteReceiving();
      this.#receiving = setInterval(() => void this.#noteReceiving(), receivingEveryMs).unref();
    }
    this.#deps.heartbeats.onAct = () => this.#loop.wake();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    clearInterval(this.#receiving);
    await this.#loop.stop();
  }

  async #noteReceiving(): Promise<void> {
    await noteReceivingAcrossTenants(this.#deps.pool).catch(error =>
      this.#log.warn({ err: error }, 'recording that heartbeats can be received failed; trying again'),
    );
  }

  /** While no process can receive calls, nothing that is due may be acted on. */
  async #actOnDue(): Promise<number> {
    const { due, claimed } = await claimDueAcrossTenants(this.#deps.pool, maxClaimed);
    await Promise.all(claimed.map(one => this.#act(one)));
    return due;
  }

  /** What fails here is due again when its claim ends. */
  async #act(heartbeat: ClaimedHeartbeat): Promise<void> {
    const { organization_id, heartbeat_id, slug, alert, occurrence_id } = heartbeat;
    const incident_id = heartbeat.incident_id!;
    const actor: Actor = { ...commandLine, name: `heartbeat ${slug}` };
    const deps = { ...this.#deps, actor };
    try {
      const opened = alert === 'opening' ? await open(deps, heartbeat) : null;
      if (alert === 'closing' && occurrence_id) await close(deps, organization_id, occurrence_id);
      await this.#results.add({ organization_id, heartbeat_id, incident_id, occurrence_id: opened });
    } catch (error) {
      const isRefusal = error instanceof AppError && error.kind !== 'internal';
      if (!isRefusal) {
        this.#log.error({ err: error, organization: heartbeat.organization, heartbeat: slug }, 'a heartbeat failed');
        return;
      }
      const isFinal = error.kind !== 'rate_limited' && error.kind !== 'unavailable';
      const seconds = isFinal ? againSeconds.refused : againSeconds.limited;
      await postponeAction(deps.pool, organization_id, heartbeat, { error: error.message, seconds, isFinal });
    }
  }
}

/** Returns the id of the occurrence. Repeating it does nothing, because it is stored under the id of the incident. */
async function open(deps: Deps, heartbeat: ClaimedHeartbeat): Promise<string> {
  const { organization: org, project: prj, application: app, event: evt } = heartbeat;
  const missing = `there is no event ${evt}: give the heartbeat another one`;
  const path = await requireEvent(deps, { org, prj, app, evt }, missing);
  return triggerEvent(deps, path, {
    id: heartbeat.incident_id!,
    context: contextOf(heartbeat),
    options: { dedup_key: `heartbeat/${heartbeat.slug}` },
  });
}

async function close(deps: Deps, organizationId: number, occurrence: string): Promise<void> {
  try {
    await resolve(deps, organizationId, occurrence);
  } catch (error) {
    // History may have been deleted already.
    if (!(error instanceof AppError) || error.code !== 'occurrence.not_found') throw error;
  }
}

const titles: Record<HeartbeatReason, (name: string) => string> = {
  missing: name => `${name} is missing`,
  unfinished: name => `${name} has not finished`,
  failed: name => `${name} failed`,
};

/** The same names as in the context of an alert of a source. */
function contextOf({ name, slug, reason, severity, context, since, last_ping_at }: ClaimedHeartbeat): JsonObject {
  return {
    title: titles[reason ?? 'missing'](name),
    severity,
    ...context,
    heartbeat: slug,
    name,
    reason: reason ?? 'missing',
    time: since.toISOString(),
    last_ping_at: last_ping_at?.toISOString() ?? null,
  };
}
