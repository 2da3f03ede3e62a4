/** What a page by hand consists of. */
import { type Static, Type } from 'typebox';
import { optionalBoolean, optionalString } from '../optional.ts';
import { limits } from '../text/text.ts';

export const pageLimits = {
  /** Characters. */
  message: 2_000,
} as const;

export const NewPage = Type.Object(
  {
    message: Type.String({
      minLength: 1,
      maxLength: pageLimits.message,
      pattern: '\\S',
      patternHint: 'must not be blank',
      description: 'What has happened. Its first line is the title.',
    }),
    user: optionalString({
      minLength: 1,
      maxLength: limits.email,
      description:
        'Username of the only user who is notified. Absent: whomever the event notifies, that is the users on call.',
    }),
    urgent: optionalBoolean({
      description: 'Default: true. The rules of each person for important messages apply, and quiet hours do not.',
    }),
    idempotency_key: optionalString({
      minLength: 1,
      maxLength: limits.key,
      description: 'The same key with the same page notifies no one again.',
    }),
  },
  { $id: 'NewPage', additionalProperties: false },
);
export type NewPage = Static<typeof NewPage>;
