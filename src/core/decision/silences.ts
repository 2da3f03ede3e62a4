/**
 * Silences: what matches is not sent for some time. `Silences.find` is the only place that decides it, for the engine, simulation and
 * "why?". It is fast with many silences: most of them name one value of a field, and are found by it.
 */
import { isObject } from '../json.ts';
import type { TriggerOptions } from '../trigger.ts';
import { findQuietEnd } from './quiet-hours.ts';
import { type Matcher, type Silence, type SilenceScope, silenceLimits } from './silence-rules.ts';

/** Returns until when a silence applies without interruption; undefined if it does not apply now. */
export function silentUntil({ starts_at, ends_at, recurrence }: SilenceTimes, now: number): number | undefined {
  const end = ends_at.getTime();
  if (now < starts_at.getTime() || now >= end) return undefined;
  if (!recurrence) return end;
  const until = findQuietEnd(recurrence, recurrence.timezone, now);
  return until === undefined ? undefined : Math.min(until, end);
}

type SilenceTimes = Pick<Silence, 'starts_at' | 'ends_at' | 'recurrence'>;

export type SilenceState = 'active' | 'planned' | 'ended';

/** A recurring silence is active from its first to its last day, also between its hours. */
export function silenceStateOf({ starts_at, ends_at }: SilenceTimes, now: number): SilenceState {
  if (ends_at.getTime() <= now) return 'ended';
  return starts_at.getTime() <= now ? 'active' : 'planned';
}

/** What is sent: a trigger, with the event that it belongs to. */
export interface SilenceSubject {
  project: { id: number };
  application: { id: number };
  /** The event. */
  id: number;
}

export interface SilenceHit {
  silence: Silence;
  until: Date;
  /**
   * `held`: it goes on when the silence ends. `suppressed`: it is never sent, because no one can say later whether it is still
   * the case: it has no dedup key, so that it cannot be resolved.
   */
  effect: 'held' | 'suppressed';
}

/** Returns whether a trigger opens an occurrence that can be resolved, and therefore waits for the end of a silence. */
export function canBeResolved(options: Pick<TriggerOptions, 'dedup_key'>): boolean {
  return options.dedup_key !== undefined;
}

interface Compiled {
  silence: Silence;
  /** Compares with the matchers that did not find it. */
  matches: (texts: (field: string) => readonly string[]) => boolean;
  start: number;
  end: number;
}

const minuteMs = 60_000;

/** Silences that are found by the same key. Which of them apply is looked up once a minute: most recur, and apply rarely. */
class Candidates {
  readonly #all: Compiled[] = [];
  #minute: number | undefined;
  #current: readonly (Compiled & { hoursEnd: number })[] = [];

  add(compiled: Compiled): void {
    this.#all.push(compiled);
  }

  /** Returns those within their hours, and when these end; the caller checks their start and end. */
  at(now: number) {
    const minute = Math.floor(now / minuteMs);
    if (minute !== this.#minute) {
      this.#current = this.#all.flatMap(compiled => {
        const { recurrence } = compiled.silence;
        const hoursEnd = recurrence ? findQuietEnd(recurrence, recurrence.timezone, now) : compiled.end;
        return hoursEnd === undefined ? [] : { ...compiled, hoursEnd };
      });
      this.#minute = minute;
    }
    return this.#current;
  }
}

/** The silences of an organization that are not over. */
export class Silences {
  /** Those that require one value of a field, by field and value. */
  readonly #byValue = new Map<string, Map<string, Candidates>>();
  /** Those without such a matcher that are limited to an event, an application or a project, by the id. */
  readonly #byScope = new Map<string, Candidates>();
  readonly #others = new Candidates();
  readonly #isEmpty: boolean;

  constructor(silences: readonly Silence[]) {
    this.#isEmpty = silences.length === 0;
    for (const silence of silences) this.#add(silence);
  }

  #add(silence: Silence): void {
    const { matchers, starts_at, ends_at, ...scope } = silence;
    const exact = matchers.find(({ op, value }) => op === '=' && value !== '');
    const matches = compileMatchers(matchers.filter(matcher => matcher !== exact));
    const compiled: Compiled = { silence, matches, start: starts_at.getTime(), end: ends_at.getTime() };
    if (exact) {
      const values = this.#byValue.get(exact.field) ?? new Map<string, Candidates>();
      this.#byValue.set(exact.field, values);
      append(values, exact.value, compiled);
      return;
    }
    const key = narrowestScope(scope);
    if (key) append(this.#byScope, key, compiled);
    else this.#others.add(compiled);
  }

  /** Returns the matching silence that lasts longest; undefined if there is none. */
  find(subject: SilenceSubject, context: object, now: number): { silence: Silence; until: Date } | undefined {
    if (this.#isEmpty) return undefined;
    const { project, application, id } = subject;
    let found: { silence: Silence; until: number } | undefined;
    const texts = textsOf(context);
    const check = (candidates: Candidates | undefined) => {
      if (!candidates) return;
      for (const { silence, matches, start, end, hoursEnd } of candidates.at(now)) {
        const until = Math.min(hoursEnd, end);
        if (now < start || now >= end || until <= (found?.until ?? 0)) continue;
        if (includes(silence, subject) && matches(texts)) found = { silence, until };
      }
    };
    for (const [field, values] of this.#byValue) for (const text of texts(field)) check(values.get(text));
    if (this.#byScope.size > 0)
      for (const key of [`event ${id}`, `application ${application.id}`, `project ${project.id}`])
        check(this.#byScope.get(key));
    check(this.#others);
    return found && { silence: found.silence, until: new Date(found.until) };
  }
}

function append(map: Map<string, Candidates>, key: string, compiled: Compiled): void {
  const candidates = map.get(key) ?? new Candidates();
  map.set(key, candidates);
  candidates.add(compiled);
}

function narrowestScope({ project_id, application_id, event_id }: SilenceScope): string | undefined {
  if (event_id !== null) return `event ${event_id}`;
  if (application_id !== null) return `application ${application_id}`;
  return project_id === null ? undefined : `project ${project_id}`;
}

function includes({ project_id, application_id, event_id }: SilenceScope, subject: SilenceSubject): boolean {
  return (
    (event_id === null || event_id === subject.id) &&
    (application_id === null || application_id === subject.application.id) &&
    (project_id === null || project_id === subject.project.id)
  );
}

/** Returns whether these matchers, without a scope or times, match a context. */
export function matchesContext(matchers: readonly Matcher[], context: object): boolean {
  return compileMatchers(matchers)(textsOf(context));
}

function compileMatchers(matchers: readonly Matcher[]): Compiled['matches'] {
  const compiled = matchers.map(({ field, op, value }) => {
    const isPattern = op === '~' || op === '!~';
    const matches = isPattern ? compilePattern(value) : (text: string) => text === value;
    return { field, matches, isNegated: op === '!=' || op === '!~' };
  });
  return texts => compiled.every(({ field, matches, isNegated }) => texts(field).some(matches) !== isNegated);
}

/** Compiles a pattern in which `*` stands for any text. Its time is linear: each part is looked for once, after the previous one. */
function compilePattern(pattern: string): (text: string) => boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return text => text === pattern;
  return text => {
    if (text.length > silenceLimits.text || text.length < first.length + last.length) return false;
    if (!text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of parts) {
      const found = text.indexOf(part, at);
      if (found === -1 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

const none = [''];

/** Returns a function that reads the texts of a field, once for all matchers: those of a list are its items. */
function textsOf(context: object): (field: string) => readonly string[] {
  const read = new Map<string, readonly string[]>();
  return field => {
    const known = read.get(field);
    if (known) return known;
    const texts = readField(context, field);
    read.set(field, texts);
    return texts;
  };
}

function readField(context: object, field: string): readonly string[] {
  const value = valueAt(context, field);
  if (!Array.isArray(value)) return [textOf(value)];
  return value.length === 0 ? none : value.map(textOf);
}

/** Names of labels may contain dots, such as `labels.app.kubernetes.io/name`. */
function valueAt(value: unknown, path: string): unknown {
  if (!isObject(value)) return undefined;
  if (Object.hasOwn(value, path)) return value[path];
  const dot = path.indexOf('.');
  if (dot === -1) return undefined;
  const name = path.slice(0, dot);
  return Object.hasOwn(value, name) ? valueAt(value[name], path.slice(dot + 1)) : undefined;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

const labelPattern = /^(.+?)(!=|!~|=|~)(.*)$/s;

/** Reads a matcher such as `labels.instance~web-*`; undefined if it is none. */
export function parseMatcher(text: string): Matcher | undefined {
  const [, field, op, value] = labelPattern.exec(text) ?? [];
  return field === undefined ? undefined : { field: field.trim(), op: op as Matcher['op'], value: value! };
}

/** Says who silenced it and why, for the people who miss the message. */
export function describeSilence({ created_by, reason }: Pick<Silence, 'created_by' | 'reason'>, until: Date): string {
  return `by ${created_by} until ${until.toISOString()}: ${reason.replace(/[.\s]+$/, '')}`;
}
