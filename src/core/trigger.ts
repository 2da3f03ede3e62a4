/** The body of a trigger, and the validation of its options. */
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from './durations.ts';
import { type FieldErrors, invalid } from './errors.ts';
import { AttachmentReference, attachmentLimits, findReferenceErrors } from './message/attachments.ts';
import { optionalBoolean, optionalString } from './optional.ts';
import { fold, limits } from './text/text.ts';

export const priorities = ['urgent', 'normal', 'bulk'] as const;
export type Priority = (typeof priorities)[number];
/** Indexes in `priorities`. */
export const urgent = priorities.indexOf('urgent');
export const bulk = priorities.indexOf('bulk');

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: limits.subscription }), { maxItems: 10_000, description });

const TriggerOptions = Type.Object(
  {
    channels: Type.Optional(names('Send only via these channels: slugs or types.')),
    limit_to: Type.Optional(names('Send only to these recipients: usernames or addresses.')),
    recipients: Type.Optional(
      Type.Array(Type.String({ format: 'email' }), {
        maxItems: 10_000,
        description: 'Recipients to notify in addition to the lists.',
      }),
    ),
    environs: Type.Optional(names('Send only notifications for these environments.')),
    send_at: optionalString({ format: 'date-time', description: 'When to send, in RFC 3339 format.' }),
    delay: optionalString({
      pattern: durationPattern,
      description: 'How long to wait before sending: 90s, 10m, 2h, 3d.',
    }),
    expires_at: optionalString({
      format: 'date-time',
      description: 'Nothing is sent after this time, in RFC 3339 format.',
    }),
    priority: Type.Optional(
      Type.Unsafe<Priority>(
        Type.Union(
          priorities.map(name => Type.Literal(name)),
          {
            description:
              'Defaults to the priority of each notification, or else to normal; to bulk if it has many recipients.',
          },
        ),
      ),
    ),
    idempotency_key: optionalString({ minLength: 1, maxLength: limits.key }),
    dedup_key: optionalString({
      minLength: 1,
      maxLength: limits.key,
      description:
        'Triggers with the same key join the open occurrence: they are counted, and no one is notified again.',
    }),
    resolve: Type.Optional(
      Type.Literal(true, { description: 'Resolves the open occurrence with this dedup_key instead of creating one.' }),
    ),
    dry_run: optionalBoolean({ description: 'Decides and records who would be notified, without sending anything.' }),
    attachments: Type.Optional(
      Type.Array(AttachmentReference, {
        maxItems: attachmentLimits.files,
        description: 'Files to send with every message, at most 10 MiB together.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const TriggerBody = Type.Object(
  {
    context: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Data for filters and templates.' }),
    ),
    options: Type.Optional(TriggerOptions),
  },
  { $id: 'Trigger', additionalProperties: false },
);

export type TriggerOptions = Static<typeof TriggerOptions>;

interface Timing {
  dueAt: Date;
  expiresAt: Date | null;
  /** Index in `priorities` with which the occurrence is expanded. */
  priority: number;
}

const normal = priorities.indexOf('normal');

/** Takes an index in `priorities`. */
export function isUrgent(priority: number | null): boolean {
  return priority === urgent;
}

/**
 * Returns the priority of a delivery, and of an occurrence while it is expanded for this notification: the trigger's, else
 * the notification's own, else normal, or bulk when there is more than one page of recipients.
 */
export function priorityOf(options: TriggerOptions, own: number | null, fansOut: boolean): number {
  if (options.priority) return priorities.indexOf(options.priority);
  return own ?? (fansOut ? bulk : normal);
}

/** Shorter than the minimum retention, so that a waiting occurrence is never dropped with its partition. */
const maxAheadDays = 30;

/** Computes when an occurrence is due and expires. Throws `request.invalid` for options that conflict. */
export function planTrigger(
  options: TriggerOptions,
  channels: readonly { slug: string; type: string }[],
  now: number,
  priority = normal,
): Timing {
  const errors: FieldErrors = options.attachments
    ? findReferenceErrors(options.attachments, 'options/attachments')
    : {};

  const available = new Set(channels.flatMap(channel => [channel.slug, channel.type]));
  const unknown = (options.channels ?? []).filter(name => !available.has(fold(name)));
  if (unknown.length > 0) {
    const names = available.size > 0 ? `available: ${[...available].join(', ')}` : 'no channels exist yet';
    errors['options/channels'] = [`no channel has this slug or type: ${unknown.join(', ')} (${names})`];
  }

  if (options.send_at && options.delay) errors['options/delay'] = ['use either send_at or delay, not both'];
  const delay = options.delay ? (parseDuration(options.delay) ?? 0) : 0;
  const due = options.send_at ? Date.parse(options.send_at) : now + delay;
  if (due > now + maxAheadDays * 86_400_000) {
    errors[options.send_at ? 'options/send_at' : 'options/delay'] = [`is more than ${maxAheadDays} days in the future`];
  }

  if (options.resolve && options.dedup_key === undefined) {
    errors['options/resolve'] = ['requires dedup_key, which identifies the occurrence to resolve'];
  }
  if (options.dedup_key !== undefined && options.dry_run) {
    errors['options/dry_run'] = ['use either dedup_key or dry_run, not both: later triggers cannot join a dry run'];
  }

  const expires = options.expires_at ? Date.parse(options.expires_at) : undefined;
  if (expires !== undefined && expires <= Math.max(due, now)) {
    errors['options/expires_at'] = ['must be later than the time of sending'];
  }

  if (Object.keys(errors).length > 0) throw invalid(errors);
  return {
    dueAt: new Date(due),
    expiresAt: expires === undefined ? null : new Date(expires),
    priority: priorityOf(options, priority, false),
  };
}
