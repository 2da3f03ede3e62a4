/**
 * Rehearses the events of watches and calls their URLs. Every process does so; the database gives each watch to one of them. A rehearsal
 * is a trigger like any other, limited to channels that send nothing: it is accepted, expanded, decided, claimed, rendered and settled by
 * the engine. Only if that ends in time is the URL called. While sending is paused, nothing happens here: that is the point.
 */
import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { type Actor, commandLine } from '../../../core/identity/actor.ts';
import { uuidv7 } from '../../../core/ids.ts';
import {
  beginRehearsal,
  type ClaimedWatch,
  claimDueWatchesAcrossTenants,
  endRehearsal,
  findNextWatchDueAcrossTenants,
  findRehearsal,
  postponeWatch,
} from '../../../db/history/levels/watches.ts';
import { cancelOccurrence } from '../../../db/ledger/expand/occurrence-ends.ts';
import { OutboundError } from '../../../lib/network/outbound.ts';
import { blockedMs, dueRound, PollLoop } from '../../../lib/process/poll-loop.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { PlannedChannel } from '../../../pipeline/plans.ts';
import { openWatch } from '../../configuration/source-secrets.ts';
import type { Deps } from '../../deps.ts';
import { requireEvent, triggerEvent } from '../triggers.ts';

/** How often a rehearsal is looked at: at first soon, because it usually takes milliseconds. */
const firstLookMs = 250;
const lookEveryMs = 1_000;
const pingTimeoutMs = 10_000;
/** Until a URL is called again that did not answer with success. */
const pingAgainMs = 10_000;
const maxClaimed = 50;

export class Watches {
  readonly #deps: Deps;
  readonly #log: Pick<FastifyBaseLogger, 'warn' | 'info' | 'error'>;
  /** Does what is due. Returns how long to wait for the next one. */
  readonly round: () => Promise<number>;
  readonly loop: PollLoop;

  constructor(deps: Deps, log: Pick<FastifyBaseLogger, 'warn' | 'info' | 'error'>, isPaused: () => boolean) {
    this.#deps = deps;
    this.#log = log;
    this.round = dueRound({
      isPaused,
      findNextDue: withinMs => findNextWatchDueAcrossTenants(deps.db, withinMs),
      processDue: async () => {
        const claimed = await claimDueWatchesAcrossTenants(deps.db, maxClaimed);
        await Promise.all(claimed.map(watch => this.#step(watch)));
        return claimed.length;
      },
    });
    this.loop = new PollLoop(this.round, { log, task: 'looking after watches', everyMs: blockedMs });
  }

  /** What fails here is due again when its claim ends. */
  async #step(watch: ClaimedWatch): Promise<void> {
    try {
      if (watch.occurrence_id === null) await this.#begin(watch);
      else await this.#look(watch, watch.occurrence_id);
    } catch (error) {
      this.#log.error({ err: error, ...namesOf(watch) }, 'looking after a watch failed; trying again');
    }
  }

  async #begin(watch: ClaimedWatch): Promise<void> {
    const { db } = this.#deps;
    const id = uuidv7(currentTime());
    const deadline = await beginRehearsal(db, watch.organization_id, watch.watch_id, id);
    if (!deadline) return;
    await this.#trigger(watch, id, deadline);
  }

  async #trigger(watch: ClaimedWatch, id: string, deadline: Date): Promise<void> {
    try {
      await trigger(this.#deps, watch, id, deadline);
      await postponeWatch(this.#deps.db, watch.organization_id, watch.watch_id, id, { afterMs: firstLookMs });
    } catch (error) {
      if (!(error instanceof AppError) || error.kind === 'internal') throw error;
      await this.#fail(watch, id, error.message);
    }
  }

  async #look(watch: ClaimedWatch, id: string): Promise<void> {
    const { db } = this.#deps;
    const { organization_id: organizationId, every, deadline, is_over: isOver } = watch;
    const rehearsal = await findRehearsal(db, organizationId, id);
    const isEnded = rehearsal?.status === 'completed';
    if (isOver) {
      await this.#stopRest(organizationId, id, isEnded || !rehearsal);
      const state = rehearsal ? (rehearsal.outcome ?? rehearsal.status) : 'not triggered';
      return this.#fail(watch, id, watch.error ?? `it was not delivered within ${every}: ${state}`);
    }
    // The process ended before it was triggered.
    if (!rehearsal) return this.#trigger(watch, id, deadline!);
    const { sent, completed_at: completedAt, outcome } = rehearsal;
    if (sent === 0 && isEnded) {
      const hint = 'its event has to notify someone by a channel whose provider is sandbox';
      return this.#fail(watch, id, `no message was delivered (${outcome}): ${hint}`);
    }
    if (sent === 0) return postponeWatch(db, watch.organization_id, watch.watch_id, id, { afterMs: lookEveryMs });
    await this.#stopRest(organizationId, id, isEnded);
    const deliveredAt = completedAt ?? new Date(currentTime());
    const mistake = await this.#ping(watch);
    if (mistake !== undefined) {
      this.#log.warn({ ...namesOf(watch), error: mistake }, 'a rehearsal was delivered, but the outside URL failed');
      return postponeWatch(db, watch.organization_id, watch.watch_id, id, {
        afterMs: pingAgainMs,
        error: mistake,
        deliveredAt,
      });
    }
    if (watch.error) this.#log.info(namesOf(watch), 'rehearsals are delivered again, and the outside URL is called');
    await endRehearsal(db, watch.organization_id, watch.watch_id, id, {
      error: null,
      deliveredAt,
      isPinged: watch.secrets !== null,
    });
  }

  /** Later steps of a rehearsal, and what waits for something, are of no use. */
  async #stopRest(organizationId: number, id: string, isEnded: boolean): Promise<void> {
    if (isEnded) return;
    await cancelOccurrence(this.#deps.pool, organizationId, id, { by: 'watch', updatable: [], counts: false });
  }

  async #fail(watch: ClaimedWatch, id: string, error: string): Promise<void> {
    this.#log.warn({ ...namesOf(watch), error }, 'a rehearsal failed, so the outside URL is not called');
    await endRehearsal(this.#deps.db, watch.organization_id, watch.watch_id, id, { error });
  }

  /** Returns why the call failed, without the URL, which is a secret; undefined: it succeeded, or there is no URL. */
  async #ping(watch: ClaimedWatch): Promise<string | undefined> {
    const { cipher, outbound } = this.#deps;
    try {
      const url = openWatch(cipher, watch.organization_id, watch);
      if (url === undefined) return undefined;
      const { status } = await outbound.request(url, { method: 'GET', timeoutMs: pingTimeoutMs });
      return status >= 200 && status < 300 ? undefined : `the URL answered ${status} instead of 2xx`;
    } catch (error) {
      if (error instanceof AppError) return error.message;
      if (error instanceof OutboundError) return reasons[error.kind] ?? 'the URL could not be called';
      throw error;
    }
  }
}

const reasons: Partial<Record<OutboundError['kind'], string>> = {
  refused: 'the URL leads to an address that is not allowed: add its network to BELFRY_OUTBOUND_ALLOW if it is yours',
  unencrypted: 'the URL redirects from https:// to http://: give the watch one that leads to https:// only',
  connect: 'the URL could not be reached',
  timeout: `the URL did not answer within ${pingTimeoutMs / 1_000} s`,
  broken: 'the connection to the URL ended without an answer',
};

function namesOf({ organization, project, application, slug }: ClaimedWatch) {
  return { organization, watch: `${project}/${application}/${slug}` };
}

/** Repeating it does nothing, because the occurrence is stored under its id. */
async function trigger(deps: Deps, watch: ClaimedWatch, id: string, deadline: Date): Promise<void> {
  const { organization: org, project: prj, application: app, event: evt, slug } = watch;
  const path = await requireEvent(deps, { org, prj, app, evt }, `there is no event ${evt}: give the watch another one`);
  const channels = findSilentChannels(await deps.plans.listChannels(path.organization.id), path.project.id);
  if (channels.length === 0)
    throw new AppError('channel.not_found', 'there is no channel whose provider is sandbox: add one for rehearsals');
  const actor: Actor = { ...commandLine, name: `watch ${slug}` };
  await triggerEvent({ ...deps, actor }, path, {
    id,
    context: { title: 'Rehearsal', rehearsal: true, watch: slug },
    options: { channels, priority: 'urgent', expires_at: deadline.toISOString() },
  });
}

/**
 * Returns the slugs of channels that send nothing, whatever they are used for: those with no other provider than the sandbox. A slug that
 * is also a type, or the slug of another channel that can be used, would select that one, too.
 */
export function findSilentChannels(channels: readonly PlannedChannel[], projectId: number): string[] {
  const usable = channels.filter(channel => channel.projectId === null || channel.projectId === projectId);
  const isSilent = ({ usable: isUsable, providers }: PlannedChannel) =>
    isUsable && providers.length > 0 && providers.every(({ provider }) => provider.name === 'sandbox');
  const loud = new Set(usable.filter(one => !isSilent(one)).flatMap(({ slug, type }) => [slug, type]));
  return [...new Set(usable.filter(isSilent).map(({ slug }) => slug))].filter(slug => !loud.has(slug));
}
