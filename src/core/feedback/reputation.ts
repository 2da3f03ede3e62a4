/**
 * The reputation guard: which share of an email channel's messages bounces or is reported as spam, and when that is too much.
 * Then bulk messages are held until a person resumes the channel.
 */
import type { Category } from '../configuration/nouns/category.ts';
import { bulk } from '../trigger.ts';

export const reputationWindow = {
  hours: 24,
  /** With fewer messages, a few reports say nothing. */
  minMessages: 200,
} as const;

/** What Gmail, Yahoo and most services tolerate. */
export const reputationDefaults = { max_bounce_percent: 5, max_complaint_percent: 0.3 } as const;

/** Counts of the window. */
export interface Reputation {
  /** Messages sent, including those that bounced later. */
  messages: number;
  /** Permanently. */
  bounced: number;
  complained: number;
}

export interface ReputationLimits {
  max_bounce_percent: number;
  max_complaint_percent: number;
}

export function percentOf(count: number, { messages }: Reputation): number {
  return messages === 0 ? 0 : Math.min(100, Math.round((count / messages) * 10_000) / 100);
}

/** Returns why bulk messages must not be sent, or undefined. */
export function findBreach(reputation: Reputation, limits: ReputationLimits): string | undefined {
  const { messages, bounced, complained } = reputation;
  if (messages < reputationWindow.minMessages) return undefined;
  const describe = (count: number, what: string, limit: number) =>
    `${percentOf(count, reputation)} % of ${messages} messages ${what} (limit ${limit} %)`;
  const breaches = [
    ...(bounced * 100 > limits.max_bounce_percent * messages
      ? [describe(bounced, 'bounced permanently', limits.max_bounce_percent)]
      : []),
    ...(complained * 100 > limits.max_complaint_percent * messages
      ? [describe(complained, 'were reported as spam', limits.max_complaint_percent)]
      : []),
  ];
  return breaches.length === 0 ? undefined : breaches.join(', and ');
}

/** Returns whether the guard may hold a message: it has bulk priority, and its category is not required. */
export function isBulk({ priority }: { priority: number }, { kind }: Pick<Category, 'kind'>): boolean {
  return priority === bulk && kind !== 'required';
}
