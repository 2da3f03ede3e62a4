/** Answers that services document, with the outcome that each means. One table for each medium is beside this file. */
import { expect } from 'vitest';
import { currentTime } from '../../../src/lib/time/clock.ts';
import type { Outcome } from '../../../src/providers/sending.ts';
import type { Reply } from '../http-peer.ts';

type PlainReply = Exclude<Reply, string>;
type Failure = Extract<Outcome, { ok: false }>;

/** What the answer says, the answer in the service's format, and the outcome without its reason. */
export type Row = readonly [
  says: string,
  reply: PlainReply | (() => PlainReply),
  outcome: Partial<Failure> | { ok: true },
];

/**
 * `partial`: a success by its status that sent nothing, or not to all. `limit`: too many messages. `credential`: a wrong key or a
 * missing permission. `gone`: the address will never work again. Success is in the compliance cases.
 */
export const kinds = ['partial', 'limit', 'credential', 'gone'] as const;
type Kind = (typeof kinds)[number];

/** A text instead of rows says why the service documents no such answer. */
export type DocumentedAnswers = Record<Kind, readonly Row[] | string> & { source: string; other?: readonly Row[] };

export const gone = { retry: false, gone: true } as const;
export const denied = { retry: false, denied: true } as const;
export const permanent = { retry: false } as const;
export const busy = { retry: true } as const;
export const wait = (retryAfterSeconds: number) => ({ retry: true, retryAfterSeconds });
/** For answers that name the time at which a limit ends. */
export const waitAbout = (seconds: number) => wait(expect.closeTo(seconds, -1) as number);
export const secondsFromNow = (seconds: number) => Math.floor(currentTime() / 1_000) + seconds;

/** Every status 429 is a limit by the rules of HTTP, with Retry-After or without. */
export const plainLimit = (body = ''): readonly Row[] => [
  ['a limit, with Retry-After', { status: 429, headers: { 'retry-after': '7' }, body }, wait(7)],
];

export const oneRecipient = 'a request has one recipient, and its status is that of the message';
