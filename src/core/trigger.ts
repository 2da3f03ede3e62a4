/** What a trigger's options mean: when it is due, until when, how urgent, by which channels. */
import { parseDuration } from './durations.ts';
import { type FieldErrors, invalid } from './errors.ts';
import { fold } from './text.ts';

export const priorities = ['urgent', 'normal', 'bulk'] as const;
export type Priority = (typeof priorities)[number];

export interface TriggerOptions {
  channels?: string[];
  limit_to?: string[];
  recipients?: string[];
  environs?: string[];
  send_at?: string;
  delay?: string;
  expires_at?: string;
  priority?: Priority;
  idempotency_key?: string;
  dry_run?: boolean;
}

export interface Timing {
  dueAt: Date;
  expiresAt: Date | null;
  /** Index in `priorities`. */
  priority: number;
}

/** Shorter than the shortest retention, so that what waits is never dropped with its partition. */
const furthestDays = 30;

/** Throws `request.invalid` naming each option that makes no sense. */
export function planTrigger(
  options: TriggerOptions,
  channels: readonly { slug: string; type: string }[],
  now: number,
): Timing {
  const errors: FieldErrors = {};

  const known = new Set(channels.flatMap(channel => [channel.slug, channel.type]));
  const unknown = (options.channels ?? []).filter(name => !known.has(fold(name)));
  if (unknown.length > 0) {
    const names = known.size > 0 ? `there are ${[...known].join(', ')}` : 'there are none yet';
    errors['options/channels'] = [`no channel of this slug or type: ${unknown.join(', ')} (${names})`];
  }

  if (options.send_at && options.delay) errors['options/delay'] = ['give either send_at or delay, not both'];
  const delay = options.delay ? (parseDuration(options.delay) ?? 0) : 0;
  const due = options.send_at ? Date.parse(options.send_at) : now + delay;
  if (due > now + furthestDays * 86_400_000) {
    errors[options.send_at ? 'options/send_at' : 'options/delay'] = [`is more than ${furthestDays} days ahead`];
  }

  const expires = options.expires_at ? Date.parse(options.expires_at) : undefined;
  if (expires !== undefined && expires <= Math.max(due, now)) {
    errors['options/expires_at'] = ['is not after the time of sending'];
  }

  if (Object.keys(errors).length > 0) throw invalid(errors);
  return {
    dueAt: new Date(due),
    expiresAt: expires === undefined ? null : new Date(expires),
    priority: priorities.indexOf(options.priority ?? 'normal'),
  };
}
