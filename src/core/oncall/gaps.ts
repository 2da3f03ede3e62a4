/**
 * Gaps: times at which no one is on call, and people on call who would not be reached. `findGaps` compares who is on call when with what
 * is known of these people.
 */
import type { Duty } from './duties.ts';
import { type Interval, joinIntervals } from './report.ts';
import { dayMs } from './zone.ts';

export const gapLimits = {
  /** How far ahead gaps are looked for: by default, and at most. */
  defaultDays: 7,
  days: 92,
  /** Times with different users that are examined of one schedule. */
  duties: 5_000,
  /** How long ago the last confirmed test page may be. */
  testedDays: 90,
  /** Verified addresses of different channel types that a person on call needs. */
  verified: 2,
} as const;

export const gapKinds = [
  'no_one',
  'missing',
  'locked',
  'absent',
  'unreachable',
  'rules',
  'unverified',
  'untested',
] as const;
export type GapKind = (typeof gapKinds)[number];

export interface Gap extends Interval {
  kind: GapKind;
  /** Username; null: the gap is that no one is on call. */
  user: string | null;
  message: string;
  /** What to do about it. */
  advice: string;
}

/** What is known of a person on call. */
export interface Readiness {
  state: 'active' | 'locked' | 'missing';
  /** Channel types by which the person can be reached in the project. */
  reachable: ReadonlySet<string>;
  /** Channel types that the person's rules name. */
  ruled: readonly string[];
  /** Channel types of verified addresses. */
  verified: readonly string[];
  absences: readonly Interval[];
  /** When a test page was last confirmed; null: never. */
  testedAt: number | null;
}

export interface Coverage {
  duties: readonly Duty[];
  /** The list that is notified while no one is on call. */
  fallback: { name: string; isEmpty: boolean } | null;
  /** Whether its users get test pages. */
  isTested: boolean;
}

/** Returns the gaps of a schedule, those without anyone first. Without `readinessOf`, nothing is known of the people. */
export function findGaps(
  { duties, fallback, isTested }: Coverage,
  now: number,
  readinessOf: (username: string) => Readiness | undefined = () => undefined,
): Gap[] {
  const isThere = (user: string) => (readinessOf(user)?.state ?? 'active') === 'active';
  const list = fallback ? `the fallback list ${fallback.name} has no active members` : 'there is no fallback list';
  const isCovered = fallback !== null && !fallback.isEmpty;
  const noOne = (who: string, isEmpty: (users: readonly string[]) => boolean) =>
    isCovered
      ? []
      : joinIntervals(duties.filter(({ users }) => isEmpty(users))).map(span =>
          gapOf('no_one', null, span, `${who}, and ${list}`),
        );
  return [
    ...noOne('no one is on call', users => users.length === 0),
    ...noOne('no one who is on call can be notified', users => users.length > 0 && !users.some(isThere)),
    ...[...spansOf(duties)].flatMap(([user, spans]) => {
      const readiness = readinessOf(user);
      return readiness ? checkPerson(user, readiness, spans, isTested ? now : undefined) : [];
    }),
  ];
}

/** A gap of a person is shown with the first time on call. `testedBy`: when it was to be tested; undefined: not at all. */
function checkPerson(
  user: string,
  readiness: Readiness,
  spans: readonly Interval[],
  testedBy: number | undefined,
): Gap[] {
  const { state, reachable, ruled, verified, absences, testedAt } = readiness;
  const first = spans[0]!;
  const gap = (kind: GapKind, message: string, span = first) => gapOf(kind, user, span, message);
  if (state === 'missing') return [gap('missing', 'was deleted')];
  if (state === 'locked') return [gap('locked', 'is locked, and not notified')];
  const unmet = ruled.filter(type => !reachable.has(type));
  const isTooOld = testedBy !== undefined && (testedAt ?? 0) < testedBy - gapLimits.testedDays * dayMs;
  return [
    ...findAbsentTimes(spans, absences).map(span => gap('absent', 'is absent while on call', span)),
    ...(reachable.size === 0
      ? [gap('unreachable', 'has no usable address for any channel that wakes people')]
      : [
          ...(unmet.length > 0
            ? [gap('rules', `has personal rules by ${unmet.join(', ')}, without a usable address`)]
            : []),
          ...(verified.length < gapLimits.verified ? [gap('unverified', describeVerified(verified))] : []),
        ]),
    ...(isTooOld
      ? [
          gap(
            'untested',
            testedAt
              ? `has confirmed no test page for ${gapLimits.testedDays} days`
              : 'has never confirmed a test page',
          ),
        ]
      : []),
  ];
}

/** Returns the times on call at which the person is absent. */
export function findAbsentTimes(spans: readonly Interval[], absences: readonly Interval[]): Interval[] {
  const away = spans.flatMap(span =>
    absences
      .filter(({ from, until }) => from < span.until && until > span.from)
      .map(({ from, until }) => ({ from: Math.max(from, span.from), until: Math.min(until, span.until) })),
  );
  return joinIntervals(away);
}

function describeVerified(verified: readonly string[]): string {
  const needed = `${gapLimits.verified} channel types are needed`;
  if (verified.length === 0) return `has no verified address: ${needed}`;
  return `has verified addresses of ${verified.join(', ')} only: ${needed}`;
}

const advices: Record<GapKind, string> = {
  no_one: 'let someone take the shift, add a layer, or name a fallback list with members',
  missing: 'let someone take the shift, and take the user out of the layer',
  locked: 'let someone take the shift, or unlock the user',
  absent: 'let someone take the shift',
  unreachable: 'add an address for one of the channels, or enable a channel',
  rules: 'add an address or a channel of this type, or change the rules',
  unverified: 'have the user verify addresses of two channel types',
  untested: 'send the user a test page, which has to be confirmed',
};

function gapOf(kind: GapKind, user: string | null, { from, until }: Interval, message: string): Gap {
  return { kind, user, from, until, message, advice: advices[kind] };
}

/** Returns the times at which each user is on call, in the order of time. */
function spansOf(duties: readonly Duty[]): Map<string, Interval[]> {
  const spans = new Map<string, Interval[]>();
  for (const { users, from, until } of duties) {
    for (const user of users) {
      const own = spans.get(user) ?? [];
      const last = own.at(-1);
      if (last?.until === from) last.until = until;
      else own.push({ from, until });
      spans.set(user, own);
    }
  }
  return spans;
}
