/**
 * Finds occurrences with far more recipients than their event has ever had. Small audiences, that is nearly all, are compared in
 * memory. Only for others is the history read, and for those with several pages an upper limit of their size: they are
 * counted exactly while they are held (holds.ts).
 */
import type pg from 'pg';
import { selectChannels } from '../../core/decision/decide.ts';
import {
  expiresMsOf,
  type Guards,
  guardDefaults,
  maxUnapproved,
  minUnapproved,
} from '../../core/decision/guards/guard.ts';
import { fold } from '../../core/text/text.ts';
import type { TriggerOptions } from '../../core/trigger.ts';
import {
  type Audience,
  countUsersUpTo,
  findLargestAudience,
  findListSize,
  storeAudiencesAcrossTenants,
} from '../../db/ledger/expand/audiences.ts';
import type { ClaimedOccurrence } from '../../db/ledger/expand/expand.ts';
import type { NewHold } from '../../db/ledger/expand/holds.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { refuseNotification } from '../../pipeline/decide.ts';
import type { EventPlan } from '../../pipeline/event-plan.ts';
import type { Plans } from '../../pipeline/plans.ts';
import { sourcesOf } from '../../pipeline/recipients.ts';
import type { Log } from '../log.ts';

/** Events whose audiences of the day are in memory. */
const maxEvents = 100_000;
const dayMs = 86_400_000;

/** Returns the beginning of a day in UTC. */
const dayOf = (time: number) => time - (time % dayMs);

/** The first page of an occurrence. */
interface FirstPage {
  recipients: number;
  /** Whether it has no other pages. */
  isComplete: boolean;
}

export const guardsOf = ({ guard, organization }: EventPlan): Guards => ({
  event: guard,
  organization: organization.guard,
});

export class AudienceGuard {
  readonly #tools: { pool: pg.Pool; plans: Plans; log: Log };
  /** The largest audiences that this worker has seen today, by event. */
  readonly #seen = new Map<number, Audience>();
  #unstored = new Set<Audience>();
  #day = 0;

  constructor(tools: { pool: pg.Pool; plans: Plans; log: Log }) {
    this.#tools = tools;
  }

  /** Notes the audience of an occurrence that was decided completely. */
  note({ id, organization }: EventPlan, recipients: number): void {
    const day = dayOf(currentTime());
    if (day !== this.#day || this.#seen.size >= maxEvents) this.#seen.clear();
    this.#day = day;
    const known = this.#seen.get(id);
    if (known && known.recipients >= recipients) return;
    const audience = { organizationId: organization.id, eventId: id, day: new Date(day), recipients };
    this.#seen.set(id, audience);
    if (known) this.#unstored.delete(known);
    this.#unstored.add(audience);
  }

  /** Stores what was noted since the last call: at most one row for each event. */
  async flush(): Promise<void> {
    if (this.#unstored.size === 0) return;
    const noted = this.#unstored;
    this.#unstored = new Set();
    try {
      await storeAudiencesAcrossTenants(this.#tools.pool, [...noted]);
    } catch (error) {
      for (const one of noted) this.#unstored.add(one);
      this.#tools.log.warn({ err: error }, 'storing the sizes of audiences failed; trying again');
    }
  }

  /** Returns what to store with an occurrence that has to be approved; undefined if it may be sent. */
  async check(plan: EventPlan, occurrence: ClaimedOccurrence, page: FirstPage): Promise<NewHold | undefined> {
    const guards = guardsOf(plan);
    const { isComplete } = page;
    const min = minUnapproved(guards);
    if (min === Number.POSITIVE_INFINITY || (isComplete && page.recipients <= min)) return undefined;
    const largest = await this.#findLargest(plan);
    const threshold = maxUnapproved(guards, largest);
    if (threshold === Number.POSITIVE_INFINITY) return undefined;
    const isHeld = isComplete
      ? page.recipients > threshold
      : (await this.#upperLimit(plan, occurrence, threshold)) > threshold;
    return isHeld ? { kind: 'audience', threshold, largest, expiresMs: expiresMsOf(guards) } : undefined;
  }

  async #findLargest({ id, organization }: EventPlan): Promise<number | null> {
    const now = currentTime();
    const stored = await findLargestAudience(
      this.#tools.pool,
      organization.id,
      id,
      new Date(dayOf(now - guardDefaults.days * dayMs)),
    );
    const seen = this.#day === dayOf(now) ? this.#seen.get(id)?.recipients : undefined;
    return seen === undefined ? stored : Math.max(seen, stored ?? 0);
  }

  /** The fallback list counts too, as no one may be on call. */
  async #countOnCall(
    { organization, project }: EventPlan,
    { schedule: slug, offset, isFallback }: { schedule: string; offset: number; isFallback: boolean },
  ): Promise<number> {
    const schedule = await this.#tools.plans.findSchedule(organization.id, project.id, slug);
    if (!isFallback) return schedule?.usersAt(currentTime(), offset).length ?? 0;
    if (!schedule?.fallback) return 0;
    return findListSize(this.#tools.pool, organization.id, project.id, fold(schedule.fallback));
  }

  /** Returns how many recipients an occurrence has at most. Above `max`, any larger number. */
  async #upperLimit(plan: EventPlan, occurrence: ClaimedOccurrence, max: number): Promise<number> {
    const { pool, plans } = this.#tools;
    const options = occurrence.options as TriggerOptions;
    const organizationId = plan.organization.id;
    const usable = await plans.listUsable(organizationId, plan.project.id);
    let total = 0;
    for (const notification of plan.notifications) {
      // The recipients of steps are decided when each is due.
      if (notification.steps || refuseNotification(notification, usable, occurrence.context, options)) continue;
      // A room gets one message for all of them.
      if (selectChannels(notification.channels, usable).every(({ reach }) => reach === 'room')) {
        total++;
        continue;
      }
      let own = 0;
      for (const source of sourcesOf(notification, plan, options)) {
        if ('names' in source) own += source.names.length;
        else if ('schedule' in source) own += await this.#countOnCall(plan, source);
        else if ('list' in source) own += await findListSize(pool, organizationId, plan.project.id, fold(source.list));
        else own += await countUsersUpTo(pool, organizationId, max + 1);
      }
      total += options.limit_to ? Math.min(own, options.limit_to.length) : own;
      if (total > max) break;
    }
    return total;
  }
}
