/**
 * The rate guard: pauses a key, event or application that triggers far more often than ever. Each process counts what it accepts in
 * memory, and every few seconds stores the counts that might be a part of too many, so that all processes together are compared with
 * what was usual. Usual rates are stored every few minutes. Everything that is held is held by the pause.
 */
import type { FastifyBaseLogger } from 'fastify';
import {
  explainExceeded,
  findExceeded,
  hasOwnRate,
  minRateLimits,
  type RateHistory,
  rateLimitsOf,
} from '../../../core/decision/guards/rate-guard.ts';
import { commandLine } from '../../../core/identity/actor.ts';
import { type GuardedKind, guardedKinds } from '../../../db/configuration/pauses.ts';
import { pauseForRate, type StoredRate, storeRatesAcrossTenants } from '../../../db/history/stats/trigger-rates.ts';
import { PollLoop } from '../../../lib/process/poll-loop.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import type { TriggerCount } from './trigger-counts.ts';

const everyMs = 5_000;
const minuteMs = 60_000;
/** Usual rates are stored after so many minutes. */
const learnEvery = 5;
/** A process stores what is at least this part of a limit: with more processes that share a load evenly, some of it is not seen. */
const minShare = 1 / 20;
const maxPerStatement = 1_000;

const actor = { ...commandLine, name: 'rate guard' };

/** What this process knows of a key, event or application. */
interface Known {
  /** What it has stored of the current minute. */
  normal: number;
  urgent: number;
  history: RateHistory | undefined;
}

/** The counts of this process for one of them. */
interface Subject {
  organizationId: number;
  kind: GuardedKind;
  id: string;
  counts: TriggerCount[];
  normal: number;
  urgent: number;
  learned: number;
}

export class RateGuard {
  readonly #deps: Pick<Deps, 'db' | 'triggerCounts' | 'actor'>;
  readonly #log: Pick<FastifyBaseLogger, 'warn' | 'error'>;
  readonly #known = new Map<string, Known>();
  /** The counts of this minute that were held, by the kind that was paused. They stay excluded after it is resumed. */
  readonly #heldAs: Record<GuardedKind, Map<string, { normal: number; urgent: number }>> = {
    key: new Map(),
    event: new Map(),
    application: new Map(),
  };
  readonly loop: PollLoop;
  #minuteEndsAt = performance.now() + minuteMs;
  #minutes = 0;

  constructor(deps: Pick<Deps, 'db' | 'triggerCounts'>, log: Pick<FastifyBaseLogger, 'warn' | 'error'>) {
    this.#deps = { ...deps, actor };
    this.#log = log;
    const round = async () => {
      const endsMinute = performance.now() >= this.#minuteEndsAt;
      if (endsMinute) this.#minuteEndsAt = performance.now() + minuteMs;
      await this.check({ endsMinute, learns: endsMinute && ++this.#minutes % learnEvery === 0 });
    };
    this.loop = new PollLoop(round, { log, task: 'comparing rates of triggers with what is usual', everyMs });
  }

  /** Stops, and stores what was counted. */
  async stop(): Promise<void> {
    await this.loop.stop();
    await this.check({ learns: true });
  }

  /** Compares what was counted; `learns` also stores it as usual. Counts that cannot be stored are lost: the guard is then stricter. */
  async check({ endsMinute = false, learns = false } = {}): Promise<void> {
    const { triggerCounts } = this.#deps;
    const taken = triggerCounts.take(learns);
    try {
      const held = new Set<string>();
      for (const kind of guardedKinds) {
        const subjects = this.#groupBy(kind, taken, held);
        for (const { counts } of await this.#checkAll(subjects, learns)) {
          for (const { name, normal, urgent } of counts) {
            held.add(name);
            this.#heldAs[kind].set(name, { normal, urgent });
          }
        }
      }
    } finally {
      if (endsMinute) {
        triggerCounts.endMinute(taken);
        this.#forgetMinute(learns);
      }
    }
  }

  /** What a held key triggers does not count for its event, nor what a held event triggers for its application. */
  #groupBy(kind: GuardedKind, counts: readonly TriggerCount[], held: ReadonlySet<string>): Map<string, Subject> {
    const within = guardedKinds.slice(0, guardedKinds.indexOf(kind));
    const subjects = new Map<string, Subject>();
    for (const count of counts) {
      const id = idOf(kind, count);
      if (id === undefined) continue;
      const organizationId = count.path.organization.id;
      const name = `${organizationId} ${id}`;
      const subject = subjects.get(name) ?? { organizationId, kind, id, counts: [], normal: 0, urgent: 0, learned: 0 };
      subjects.set(name, subject);
      subject.counts.push(count);
      const excluded = within.map(one => this.#heldAs[one].get(count.name));
      subject.normal += count.normal - Math.max(0, ...excluded.map(one => one?.normal ?? 0));
      subject.urgent += count.urgent - Math.max(0, ...excluded.map(one => one?.urgent ?? 0));
      if (!held.has(count.name)) subject.learned += count.unlearned;
    }
    return subjects;
  }

  /** Returns those that are paused. */
  async #checkAll(subjects: Map<string, Subject>, learns: boolean): Promise<Subject[]> {
    const chosen: Subject[] = [];
    for (const [name, subject] of subjects) {
      if (this.#isSuspicious(name, subject) || (learns && subject.learned > 0)) chosen.push(subject);
    }
    const held: Subject[] = [];
    for (let from = 0; from < chosen.length; from += maxPerStatement) {
      const some = chosen.slice(from, from + maxPerStatement);
      const changes = some.map(subject => this.#changeOf(subject));
      const rows = await storeRatesAcrossTenants(this.#deps.db, some[0]!.kind, changes);
      for (const row of rows) {
        const subject = subjects.get(`${row.organization_id} ${row.id}`)!;
        if (await this.#judge(subject, row)) held.push(subject);
      }
    }
    return held;
  }

  #isSuspicious(name: string, subject: Subject): boolean {
    const known = this.#known.get(`${subject.kind} ${name}`);
    if (known && known.normal + known.urgent > 0) return true;
    const { guards, firstRate } = settingsOf(subject);
    const limits = known?.history ? rateLimitsOf(guards, firstRate, known.history) : minRateLimits(guards, firstRate);
    return isPartOf(subject.normal, limits.normal) || isPartOf(subject.urgent, limits.urgent);
  }

  #changeOf(subject: Subject) {
    const { organizationId: organization_id, kind, id, normal, urgent, learned } = subject;
    const name = `${kind} ${organization_id} ${id}`;
    const known = this.#known.get(name) ?? { normal: 0, urgent: 0, history: undefined };
    const change = { organization_id, id, normal: normal - known.normal, urgent: urgent - known.urgent, learned };
    this.#known.set(name, { ...known, normal, urgent });
    return change;
  }

  /** Returns whether it is paused, now or before. */
  async #judge(subject: Subject, row: StoredRate): Promise<boolean> {
    const history = { busiest: row.busiest, isNew: row.is_new };
    this.#known.get(`${subject.kind} ${row.organization_id} ${row.id}`)!.history = history;
    if (row.paused && row.cause !== 'guard.rate') return true;
    const { guards, firstRate } = settingsOf(subject);
    const exceeded = findExceeded(row, rateLimitsOf(guards, firstRate, history));
    if (!exceeded || exceeded.cause === row.cause) return row.cause !== null;
    await this.#pause(subject, exceeded);
    return true;
  }

  async #pause(subject: Subject, exceeded: NonNullable<ReturnType<typeof findExceeded>>): Promise<void> {
    const { organizationId, kind } = subject;
    const { cause, triggers, limit } = exceeded;
    const reason = explainExceeded(exceeded);
    const pause = { cause, reason, triggers, limit, path: pathOf(subject) };
    const path = await this.#deps.db.transaction().execute(async trx => {
      const path = await pauseForRate(trx, organizationId, subject, pause);
      if (path === undefined) return undefined;
      const after = { reason, cause, triggers, limit };
      await record(this.#deps, trx, organizationId, { action: 'pause', noun: kind, path, after });
      return path;
    });
    if (path === undefined) return;
    const isUrgent = cause === 'guard.rate_all';
    const facts = { organization: organizationId, kind, path, triggers, limit };
    this.#log[isUrgent ? 'error' : 'warn'](
      facts,
      `the rate guard paused what triggers far more often than ever: ${isUrgent ? 'everything' : 'what is not urgent'} is held`,
    );
  }

  #forgetMinute(learns: boolean): void {
    for (const kind of guardedKinds) this.#heldAs[kind].clear();
    for (const [name, known] of this.#known) {
      // What did not trigger since it was last learned has no count, and needs no history.
      if (learns && known.normal + known.urgent === 0) this.#known.delete(name);
      else this.#known.set(name, { ...known, normal: 0, urgent: 0 });
    }
  }
}

/** Whether a count may be this process's share of too many. */
const isPartOf = (count: number, limit: number) => count > 0 && count >= limit * minShare;

/** Returns what the triggers count for; undefined if a limit of their own applies to them instead. */
function idOf(kind: GuardedKind, { path: { application, event }, keyId }: TriggerCount): string | undefined {
  if (kind === 'event') return String(event.id);
  if (hasOwnRate(event.guard)) return undefined;
  if (kind === 'application') return String(application.id);
  return hasOwnRate(application.guard) ? undefined : keyId;
}

function settingsOf({ kind, counts }: Subject) {
  const { organization, application, event } = counts.at(-1)!.path;
  const guards = [
    ...(kind === 'event' ? [event.guard] : []),
    ...(kind === 'key' ? [] : [application.guard]),
    organization.guard,
  ];
  return { guards, firstRate: organization.guard?.first_rate };
}

/** Returns the slugs; null for a key, which has a name. */
function pathOf({ kind, counts }: Subject): string | null {
  const { project, application, event } = counts[0]!.path;
  if (kind === 'key') return null;
  return [project, application, ...(kind === 'event' ? [event] : [])].map(({ slug }) => slug).join('/');
}
