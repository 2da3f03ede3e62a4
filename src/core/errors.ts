/**
 * The catalogue of errors that Belfry returns to callers: stable code, kind and title.
 * Only `http/server/errors.ts` maps a kind to an HTTP status; the command line exits with code 1 for every kind.
 */
export type ErrorKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method'
  | 'conflict'
  | 'stale'
  | 'too_large'
  | 'media_type'
  | 'rate_limited'
  | 'unavailable'
  | 'moved'
  | 'internal';

const catalogue = {
  'request.invalid': ['invalid', 'The request is invalid'],
  'request.malformed': ['invalid', 'The request could not be parsed'],
  'request.too_large': ['too_large', 'The request body is too large'],
  'request.media_type': ['media_type', 'The media type of the body is not supported'],
  'request.encoding': ['media_type', 'Content-Encoding is not supported'],
  'request.method': ['method', 'The method is not allowed for this path'],
  'request.stale': ['stale', 'The resource has changed since it was read'],
  'request.rate_limited': ['rate_limited', 'Too many requests with this API key'],

  'feedback.refused': ['unauthorized', 'The sender of the feedback could not be verified'],
  'source.refused': ['unauthorized', 'The sender of the alerts could not be verified'],
  'interaction.refused': ['unauthorized', 'The sender of the interaction could not be verified'],

  'metrics.token': ['unauthorized', 'The metrics token is required'],
  'metrics.closed': ['forbidden', 'Metrics are not served at this address'],

  'key.missing': ['unauthorized', 'An API key is required'],
  'key.invalid': ['unauthorized', 'The API key is not valid'],
  'key.revoked': ['unauthorized', 'The API key was revoked'],
  'key.expired': ['unauthorized', 'The API key has expired'],
  'key.network': ['forbidden', 'The API key may not be used from this address'],
  'key.permission': ['forbidden', 'The API key lacks a permission'],
  'key.limited': ['forbidden', 'The API key cannot grant more than it has'],
  'key.ended': ['conflict', 'The API key is no longer active'],

  'token.invalid': ['unauthorized', 'The token is not valid'],
  'token.expired': ['unauthorized', 'The token has expired'],

  'session.missing': ['unauthorized', 'You are not signed in'],
  'session.refused': ['unauthorized', 'The email or password is incorrect'],
  'session.locked': ['rate_limited', 'Too many failed attempts'],
  'session.second_factor': ['unauthorized', 'A second factor is required'],
  'session.code': ['unauthorized', 'The code is incorrect'],
  'session.expired': ['unauthorized', 'The sign-in or request timed out'],
  'session.unconfirmed': ['forbidden', 'Confirm your identity first'],
  'session.two_factor_required': ['forbidden', 'This organization requires two-factor authentication'],
  'session.not_found': ['not_found', 'Session not found'],
  'session.csrf': ['forbidden', 'The request did not come from the console'],
  'passkey.refused': ['unauthorized', 'The passkey was not accepted'],
  'passkey.invalid': ['invalid', 'The passkey cannot be added'],
  'passkey.unavailable': ['conflict', 'Passkeys are not available at this address'],
  'passkey.not_found': ['not_found', 'Passkey not found'],
  'reset.not_found': ['not_found', 'Password reset not found'],
  'reset.unavailable': ['conflict', 'Email is not set up'],
  'reset.limited': ['rate_limited', 'Too many password resets'],
  'oidc.unavailable': ['unavailable', 'The identity provider cannot be reached'],
  'oidc.failed': ['unauthorized', 'The identity provider did not sign you in'],
  'oidc.unverified': ['forbidden', 'The identity provider has not verified your email'],
  'oidc.unknown': ['forbidden', 'There is no account or invite for your email'],
  'oidc.linked': [
    'forbidden',
    'Your account is linked to another identity at the identity provider: ask an owner of your organization to unlink it',
  ],
  'oidc.unconfirmed': ['forbidden', 'The identity provider did not confirm that it is you: sign in again'],
  'account.shared': ['forbidden', 'The account belongs to others as well'],
  'test.address': ['forbidden', 'A test may not be sent to this address'],
  'hold.own': ['forbidden', 'Someone else has to approve it'],
  'role.permission': ['forbidden', 'Your role lacks a permission'],

  'path.not_found': ['not_found', 'The path does not exist'],
  'organization.not_found': ['not_found', 'Organization not found'],
  'organization.moved': ['moved', 'The organization has moved to another cell'],
  'organization.moving': ['unavailable', 'The organization is moving to another cell'],
  'project.not_found': ['not_found', 'Project not found'],
  'application.not_found': ['not_found', 'Application not found'],
  'event.not_found': ['not_found', 'Event not found'],
  'category.not_found': ['not_found', 'Category not found'],
  'channel.not_found': ['not_found', 'Channel not found'],
  'test.limited': ['rate_limited', 'Too many test messages at once'],
  'verification.limited': ['rate_limited', 'Too many codes'],
  'calendar.not_found': ['not_found', 'Calendar not found'],
  'calendar.limited': ['rate_limited', 'Too many requests for this calendar'],
  'domain.limited': ['rate_limited', 'Too many domain checks'],
  'notification.not_found': ['not_found', 'Notification not found'],
  'version.not_found': ['not_found', 'Version not found'],
  'layout.not_found': ['not_found', 'Layout not found'],
  'user.not_found': ['not_found', 'User not found'],
  'address.not_found': ['not_found', 'Address not found'],
  'member.not_found': ['not_found', 'Member not found'],
  'list.not_found': ['not_found', 'Distribution list not found'],
  'suppression.not_found': ['not_found', 'Suppression not found'],
  'hold.not_found': ['not_found', 'The occurrence was not held'],
  'silence.not_found': ['not_found', 'Silence not found'],
  'occurrence.not_found': ['not_found', 'Occurrence not found'],
  'attachment.not_found': ['not_found', 'Attachment not found'],
  'delivery.not_found': ['not_found', 'Delivery not found'],
  'message.not_found': ['not_found', 'Message not found'],
  'webhook.not_found': ['not_found', 'Webhook not found'],
  'source.not_found': ['not_found', 'Source not found'],
  'heartbeat.not_found': ['not_found', 'Heartbeat not found'],
  'watch.not_found': ['not_found', 'Watch not found'],
  'schedule.not_found': ['not_found', 'Schedule not found'],
  'absence.not_found': ['not_found', 'Absence not found'],
  'absence.limit': ['conflict', 'Too many absences of the user'],
  'absence.from_calendar': ['conflict', 'The absence comes from a calendar'],
  'absence_calendar.not_found': ['not_found', 'Absence calendar not found'],
  'absence_calendar.limit': ['conflict', 'Too many calendars of the user'],
  'swap.not_found': ['not_found', 'Swap not found'],
  'swap.limit': ['conflict', 'Too many swaps of the schedule'],
  'swap.taken': ['conflict', 'Someone else has taken the shift'],
  'swap.ended': ['conflict', 'The swap is over'],
  'schedule.not_pageable': ['conflict', 'The schedule cannot be paged'],
  'override.not_found': ['not_found', 'Override not found'],
  'override.limit': ['conflict', 'Too many overrides of the schedule'],
  'override.ended': ['conflict', 'The override is over'],
  'test_page.off': ['conflict', 'The user gets no test pages'],
  'test_page.limited': ['rate_limited', 'Too many test pages'],
  'payload.not_found': ['not_found', 'Payload not found'],
  'payload.unusable': ['conflict', 'The payload cannot be judged again'],
  'webhook.sending': ['conflict', 'The message is being sent'],
  'webhook.inactive': ['conflict', 'The webhook is disabled'],
  'verification.unreachable': ['conflict', 'No channel can reach the address'],
  'verification.failed': ['conflict', 'The code could not be sent'],
  'verification.ended': ['conflict', 'There is no valid code'],
  'verification.done': ['conflict', 'The address is verified already'],
  'account.no_user': ['conflict', 'No user of the organization has your email'],
  'push.unavailable': ['conflict', 'Browser push is not set up'],
  'key.not_found': ['not_found', 'API key not found'],
  'account.not_found': ['not_found', 'Account not found'],
  'invite.not_found': ['not_found', 'Invite not found'],

  'limit.triggers': ['rate_limited', 'Trigger rate limit of the organization reached'],
  'limit.bytes': ['rate_limited', 'The organization has too many large requests in progress'],
  'limit.fan_out': ['invalid', 'Too many recipients for one trigger'],
  'limit.users': ['rate_limited', 'User limit of the organization reached'],
  'limit.stored_messages': ['rate_limited', 'Stored message limit of the organization reached'],
  'limit.attachment_bytes': ['rate_limited', 'Attachment storage limit of the organization reached'],
  'limit.attachments': ['rate_limited', 'Too many uploads of the organization are unused'],
  'limit.streams': ['rate_limited', 'Inbox stream limit of the organization reached'],

  'push.limit': ['rate_limited', 'Device limit of the user reached'],
  'stream.limit': ['rate_limited', 'Inbox stream limit of the user reached'],

  'message.acted': ['conflict', 'Another action has already been taken'],
  'resource.in_use': ['conflict', 'The resource is in use, or contains others'],
  'resource.exists': ['conflict', 'A resource with this name already exists'],
  'account.two_factor_missing': ['conflict', 'Set up two-factor authentication first'],
  'account.last_owner': ['conflict', 'An organization needs at least one owner'],
  'user.exists': ['invalid', 'The user already exists'],
  'list.exists': ['invalid', 'The distribution list already exists'],
  'event.inactive': ['invalid', 'The event is not active'],
  'context.invalid': ['invalid', 'The context does not match the schema of the event'],
  'delivery.not_failed': ['invalid', 'The delivery did not fail'],
  'occurrence.not_asked': ['conflict', 'Only its recipients can acknowledge it'],
  'occurrence.no_steps': ['conflict', 'The occurrence has no steps'],
  'hold.decided': ['conflict', 'The occurrence does not wait for an approval'],
  'silence.ended': ['conflict', 'The silence is over'],
  'silence.limit': ['conflict', 'The organization has too many silences'],
  'occurrence.ended': ['invalid', 'The occurrence has already ended'],
  'idempotency.conflict': ['invalid', 'The idempotency key was used with a different request'],

  'template.invalid': ['invalid', 'The template is invalid'],
  'template.failed': ['invalid', 'The message could not be rendered'],

  'file.invalid': ['invalid', 'The configuration file is invalid'],
  'config.invalid': ['invalid', 'The settings are invalid'],
  'import.failed': ['unavailable', 'The other system could not be read'],
  'usage.invalid': ['invalid', 'The command was used incorrectly'],
  'secret.unreadable': ['internal', 'A stored secret cannot be decrypted'],
  'secret.key_in_use': ['conflict', 'The old key is still in use'],
  'schema.newer': ['internal', 'The database is newer than this program'],
  'schema.unsupported': ['internal', 'The database is from before 0.1.0'],
  'database.unsupported': ['internal', 'This PostgreSQL version is not supported'],
  'database.missing': ['not_found', 'The database does not exist'],
  'backup.failed': ['internal', 'The backup could not be created or read'],
  'restore.not_empty': ['conflict', 'The database is not empty'],
  'restore.in_use': ['conflict', 'The database is in use'],
  'restore.key_missing': ['conflict', 'The secret key of the backup is missing'],
  'move.refused': ['conflict', 'The organization cannot be moved'],
  'move.aborted': ['conflict', 'The move was aborted'],
  'instance.other': ['conflict', 'The database belongs to another installation'],
  'instance.not_paused': ['conflict', 'Sending is not paused'],
  'outbox.missing': ['not_found', 'The database has no outbox'],
  'outbox.forbidden': ['forbidden', 'The database role cannot drain the outbox'],
  'embedded.failed': ['internal', 'The embedded PostgreSQL did not start'],
  'service.unavailable': ['unavailable', 'Belfry cannot do this right now'],
  'service.internal': ['internal', 'Something went wrong inside Belfry'],
} as const satisfies Record<string, readonly [ErrorKind, string]>;

export type ErrorCode = keyof typeof catalogue;
export const errorCodes = Object.keys(catalogue) as ErrorCode[];

/** All codes with kind and title, for the page that documents them. */
export const errorList = errorCodes.map(code => {
  const [kind, title]: readonly [ErrorKind, string] = catalogue[code];
  return { code, kind, title };
});

/** Maps a field (a JSON pointer without its leading slash, or `body` for the whole request) to its error messages. */
export type FieldErrors = Record<string, string[]>;

interface Details {
  /** Errors by field; returned to the caller. */
  fields?: FieldErrors;
  retryAfterSeconds?: number;
  /** For a refused deletion: what would be deleted with the resource, or what still uses it. */
  uses?: Record<string, unknown>;
  /** For a sign-in with the right password: which second factors can complete it. */
  secondFactor?: Record<string, unknown>;
  /** The URL of the cell that an organization has moved to. */
  origin?: string;
  /** The path that does not exist, to suggest another one; never returned to the caller. */
  slugs?: { org: string; prj?: string; app?: string; evt?: string };
  /** The methods that the path supports. */
  allow?: string[];
  cause?: unknown;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly title: string;
  readonly details: Details;

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.name = 'AppError';
    this.code = code;
    [this.kind, this.title] = catalogue[code];
    this.details = details;
  }
}

/** Throws if there is a mistake: one message for each field. */
export function throwIfInvalid(mistakes: Record<string, string>): void {
  const fields = Object.entries(mistakes).map(([field, message]) => [field, [message]]);
  if (fields.length > 0) throw invalid(Object.fromEntries(fields));
}

/** Creates the error for invalid fields (400). `total` is a lower bound of their number when `fields` does not list all. */
export function invalid(fields: FieldErrors, code: ErrorCode = 'request.invalid', total?: number): AppError {
  const [field, messages] = Object.entries(fields)[0] ?? ['body', ['is invalid']];
  const more = (total ?? Object.keys(fields).length) - 1;
  const others = total === undefined ? `and ${more} more` : `and at least ${more} more`;
  return new AppError(code, `${field}: ${messages[0]}${more > 0 ? ` (${others})` : ''}`, { fields });
}
