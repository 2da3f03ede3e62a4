/** What a trigger's options mean: when it is due, until when, how urgent, by which channels. */
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from './durations.ts';
import { type FieldErrors, invalid } from './errors.ts';
import { fold, limits } from './text.ts';

export const priorities = ['urgent', 'normal', 'bulk'] as const;
export type Priority = (typeof priorities)[number];

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: limits.subscription }), { maxItems: 10_000, description });

const TriggerOptions = Type.Object(
  {
    channels: Type.Optional(names('Only these channels: slugs or types.')),
    limit_to: Type.Optional(names('Only these of the recipients: usernames or addresses.')),
    recipients: Type.Optional(
      Type.Array(Type.String({ format: 'email' }), { maxItems: 10_000, description: 'Notified besides the lists.' }),
    ),
    environs: Type.Optional(names('Only notifications for these environments.')),
    send_at: Type.Optional(Type.String({ format: 'date-time', description: 'When to send; RFC 3339.' })),
    delay: Type.Optional(Type.String({ pattern: durationPattern, description: 'How long to wait: 90s, 10m, 2h, 3d.' })),
    expires_at: Type.Optional(Type.String({ format: 'date-time', description: 'Not sent after this; RFC 3339.' })),
    priority: Type.Optional(
      Type.Union(
        priorities.map(name => Type.Literal(name)),
        { description: "Absent: each notification's own, else normal, and bulk for many recipients." },
      ),
    ),
    idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: limits.key })),
    dedup_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.key,
        description: 'Triggers of the same key join the open occurrence: it counts them, and nobody is told twice.',
      }),
    ),
    resolve: Type.Optional(
      Type.Literal(true, { description: 'Resolves the open occurrence of the dedup_key instead of opening one.' }),
    ),
    dry_run: Type.Optional(Type.Boolean({ description: 'Decide everything, send nothing.' })),
  },
  { additionalProperties: false },
);

export const TriggerBody = Type.Object(
  {
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Data for the templates.' })),
    options: Type.Optional(TriggerOptions),
  },
  { $id: 'Trigger', additionalProperties: false },
);

export type TriggerOptions = Static<typeof TriggerOptions>;

export interface Timing {
  dueAt: Date;
  expiresAt: Date | null;
  /** Index in `priorities`: with which the occurrence is expanded. */
  priority: number;
}

const [normal, bulk] = [priorities.indexOf('normal'), priorities.indexOf('bulk')];

/**
 * Of a delivery, and of an occurrence while it is at this notification: what the trigger says, else what the notification
 * says, else normal, and bulk where more than one page of recipients is told.
 */
export function priorityOf(options: TriggerOptions, own: number | null, fansOut: boolean): number {
  if (options.priority) return priorities.indexOf(options.priority);
  return own ?? (fansOut ? bulk : normal);
}

/** Shorter than the shortest retention, so that what waits is never dropped with its partition. */
const furthestDays = 30;

/** Throws `request.invalid` naming each option that makes no sense. `priority` is that of the event. */
export function planTrigger(
  options: TriggerOptions,
  channels: readonly { slug: string; type: string }[],
  now: number,
  priority = normal,
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

  if (options.resolve && options.dedup_key === undefined) {
    errors['options/resolve'] = ['needs dedup_key, which names the occurrence to resolve'];
  }
  if (options.dedup_key !== undefined && options.dry_run) {
    errors['options/dry_run'] = ['give either dedup_key or dry_run, not both: a dry run opens nothing to join'];
  }

  const expires = options.expires_at ? Date.parse(options.expires_at) : undefined;
  if (expires !== undefined && expires <= Math.max(due, now)) {
    errors['options/expires_at'] = ['is not after the time of sending'];
  }

  if (Object.keys(errors).length > 0) throw invalid(errors);
  return {
    dueAt: new Date(due),
    expiresAt: expires === undefined ? null : new Date(expires),
    priority: priorityOf(options, priority, false),
  };
}
