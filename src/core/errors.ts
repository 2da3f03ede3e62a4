/**
 * Every error that Belfry tells a caller about, once: its stable code, what kind of trouble it is, and its title.
 * `http/errors.ts` alone turns a kind into a status; the command line turns every kind into exit code 1.
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
  | 'internal';

const catalogue = {
  'request.invalid': ['invalid', 'The request is invalid'],
  'request.malformed': ['invalid', 'The request cannot be read'],
  'request.too_large': ['too_large', 'The request body is too large'],
  'request.media_type': ['media_type', 'The body has the wrong media type'],
  'request.encoding': ['media_type', 'The body is encoded'],
  'request.method': ['method', 'This path does not take that method'],
  'request.stale': ['stale', 'It has changed since it was read'],
  'request.rate_limited': ['rate_limited', 'Too many requests for this key'],

  'metrics.token': ['unauthorized', 'The token of the metrics is required'],

  'key.missing': ['unauthorized', 'An API key is required'],
  'key.invalid': ['unauthorized', 'The API key is not valid'],
  'key.revoked': ['unauthorized', 'The API key was revoked'],
  'key.expired': ['unauthorized', 'The API key has expired'],
  'key.network': ['forbidden', 'The API key may not be used from this address'],
  'key.permission': ['forbidden', 'The API key lacks a permission'],
  'key.ended': ['conflict', 'The API key works no longer'],
  'key.name_taken': ['invalid', 'A key of that name exists'],

  'token.invalid': ['unauthorized', 'The token is not valid'],
  'token.expired': ['unauthorized', 'The token has expired'],

  'session.missing': ['unauthorized', 'Nobody is signed in'],
  'session.refused': ['unauthorized', 'The email or the password is wrong'],
  'session.locked': ['rate_limited', 'Too many wrong attempts'],
  'session.second_factor': ['unauthorized', 'A second factor is needed'],
  'session.code': ['unauthorized', 'The code is wrong'],
  'session.expired': ['unauthorized', 'This took too long'],
  'session.unconfirmed': ['forbidden', 'Confirm that it is you'],
  'session.two_factor_required': ['forbidden', 'This organization requires two-factor authentication'],
  'session.not_found': ['not_found', 'No such session'],
  'session.csrf': ['forbidden', 'The request does not come from the console'],
  'passkey.refused': ['unauthorized', 'The passkey was not accepted'],
  'passkey.invalid': ['invalid', 'The passkey cannot be added'],
  'passkey.unavailable': ['conflict', 'Passkeys do not work at this address'],
  'passkey.not_found': ['not_found', 'No such passkey'],
  'reset.not_found': ['not_found', 'No such password reset'],
  'reset.unavailable': ['conflict', 'No mail can be sent'],
  'reset.limited': ['rate_limited', 'Too many password resets'],
  'oidc.unavailable': ['unavailable', 'The identity provider cannot be reached'],
  'oidc.failed': ['unauthorized', 'The identity provider did not sign you in'],
  'oidc.unverified': ['forbidden', 'The identity provider does not vouch for your email'],
  'oidc.unknown': ['forbidden', 'There is neither an account nor an invite for your email'],
  'role.permission': ['forbidden', 'Your role lacks a permission'],

  'path.not_found': ['not_found', 'There is nothing at this path'],
  'organization.not_found': ['not_found', 'No such organization'],
  'project.not_found': ['not_found', 'No such project'],
  'application.not_found': ['not_found', 'No such application'],
  'event.not_found': ['not_found', 'No such event'],
  'category.not_found': ['not_found', 'No such category'],
  'channel.not_found': ['not_found', 'No such channel'],
  'notification.not_found': ['not_found', 'No such notification'],
  'version.not_found': ['not_found', 'No such version'],
  'layout.not_found': ['not_found', 'No such layout'],
  'user.not_found': ['not_found', 'No such user'],
  'address.not_found': ['not_found', 'No such address'],
  'member.not_found': ['not_found', 'No such member'],
  'list.not_found': ['not_found', 'No such distribution list'],
  'occurrence.not_found': ['not_found', 'No such occurrence'],
  'delivery.not_found': ['not_found', 'No such delivery'],
  'message.not_found': ['not_found', 'No such message'],
  'webhook.not_found': ['not_found', 'No such webhook'],
  'webhook.sending': ['conflict', 'The message is being sent'],
  'webhook.inactive': ['conflict', 'The webhook is off'],
  'push.unavailable': ['conflict', 'Browser push is not set up'],
  'key.not_found': ['not_found', 'No such key'],
  'account.not_found': ['not_found', 'No such account'],
  'invite.not_found': ['not_found', 'No such invite'],

  'limit.triggers': ['rate_limited', 'The organization triggers too fast'],
  'limit.fan_out': ['invalid', 'The trigger names more recipients than it may have'],
  'limit.users': ['rate_limited', 'The organization has as many users as it may have'],
  'limit.stored_messages': ['rate_limited', 'The organization keeps as many messages as it may'],

  'push.limit': ['rate_limited', 'The person has as many browsers as they may'],
  'stream.limit': ['rate_limited', 'The person has as many streams open as they may'],

  'message.acted': ['conflict', 'Another action has been taken already'],
  'resource.in_use': ['conflict', 'Something else needs it, or would be deleted along'],
  'resource.exists': ['conflict', 'There is one of that name already'],
  'account.two_factor_missing': ['conflict', 'Set up two-factor authentication first'],
  'account.last_owner': ['conflict', 'An organization keeps its last owner'],
  'user.exists': ['invalid', 'The user exists already'],
  'list.exists': ['invalid', 'The distribution list exists already'],
  'event.inactive': ['invalid', 'The event is not active'],
  'context.invalid': ['invalid', 'The context does not match the schema of the event'],
  'delivery.not_failed': ['invalid', 'The delivery did not fail'],
  'occurrence.ended': ['invalid', 'The occurrence has ended already'],
  'idempotency.conflict': ['invalid', 'The idempotency key was used with another body'],

  'template.invalid': ['invalid', 'The template has a mistake'],
  'template.failed': ['invalid', 'The message could not be written'],

  'file.invalid': ['invalid', 'The configuration file has mistakes'],
  'config.invalid': ['invalid', 'The settings have mistakes'],
  'usage.invalid': ['invalid', 'Wrong usage'],
  'secret.unreadable': ['internal', 'A stored secret cannot be decrypted'],
  'secret.key_in_use': ['conflict', 'The old key is still in use'],
  'schema.newer': ['internal', 'The database is newer than this program'],
  'database.unsupported': ['internal', 'This PostgreSQL is too old'],
  'database.missing': ['not_found', 'There is no database'],
  'backup.failed': ['internal', 'The backup could not be made or read'],
  'restore.not_empty': ['conflict', 'The database is not empty'],
  'restore.in_use': ['conflict', 'The database is in use'],
  'instance.other': ['conflict', 'The database belongs to another installation'],
  'instance.not_paused': ['conflict', 'Sending is not paused'],
  'outbox.missing': ['not_found', 'There is no outbox in the database'],
  'outbox.forbidden': ['forbidden', 'The role may not drain the outbox'],
  'embedded.failed': ['internal', 'The embedded PostgreSQL did not start'],
  'service.unavailable': ['unavailable', 'Belfry cannot do this right now'],
  'service.internal': ['internal', 'Something went wrong inside Belfry'],
} as const satisfies Record<string, readonly [ErrorKind, string]>;

export type ErrorCode = keyof typeof catalogue;
export const errorCodes = Object.keys(catalogue) as ErrorCode[];

/** The same with kind and title, for the page that explains them. */
export const errorList = errorCodes.map(code => {
  const [kind, title]: readonly [ErrorKind, string] = catalogue[code];
  return { code, kind, title };
});

/** Field (a JSON pointer without its leading slash, `body` for the whole) to what is wrong with it. */
export type FieldErrors = Record<string, string[]>;

interface Details {
  /** What is wrong with which field; shown to the caller. */
  fields?: FieldErrors;
  retryAfterSeconds?: number;
  /** Of a deletion that was refused: what it would take along, or what needs it. */
  uses?: Record<string, unknown>;
  /** Of a sign-in with the right password: how it goes on. */
  secondFactor?: Record<string, unknown>;
  /** The methods that a path does take. */
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

/** The usual 400: one or several fields are wrong; `total` of them at least, where not all are named. */
export function invalid(fields: FieldErrors, code: ErrorCode = 'request.invalid', total?: number): AppError {
  const [field, messages] = Object.entries(fields)[0] ?? ['body', ['is invalid']];
  const more = (total ?? Object.keys(fields).length) - 1;
  const others = total === undefined ? `and ${more} more` : `and at least ${more} more`;
  return new AppError(code, `${field}: ${messages[0]}${more > 0 ? ` (${others})` : ''}`, { fields });
}
