/** Schemas that several nouns share. */
import { Type } from 'typebox';
import { expressionLimits } from '../../expressions/expressions.ts';
import { templateLimits } from '../../render/template/limits.ts';
import { limits, slugPattern } from '../../text/text.ts';

/** Channel types. A channel sends to addresses of its type. */
export const media = [
  'email',
  'sms',
  'voice',
  'whatsapp',
  'telegram',
  'slack',
  'teams',
  'discord',
  'chat',
  'webhook',
  'webpush',
  'push',
  'inbox',
] as const;
export type Medium = (typeof media)[number];

export const closed = { additionalProperties: false } as const;
export const unmanaged = 'Absent: not managed, left unchanged.';

export const Slug = Type.String({
  maxLength: limits.slug,
  pattern: slugPattern,
  patternHint: 'must be lower-case letters and digits, with single dashes or underscores between them',
});
const slug = slugPattern.replace(/^\^|\$$/g, '');
/** The event that something of a project triggers. */
export const eventOfProject = {
  maxLength: 2 * limits.slug + 1,
  pattern: `^${slug}/${slug}$`,
  patternHint: 'must be the slugs of an application of the project and its event: application/event',
} as const;
export const Name = Type.String({
  minLength: 1,
  maxLength: limits.name,
  pattern: '\\S',
  patternHint: 'must not be blank',
});
// Not Type.Record: its key pattern does not match keys that contain a line break, and the serializer would drop them.
export const Data = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Free-form JSON.',
});
export const Expression = Type.String({ minLength: 1, maxLength: expressionLimits.source, description: 'JMESPath.' });
export const Subject = Type.String({ maxLength: 2_000, description: 'A template.' });
export const Body = Type.String({ maxLength: templateLimits.source, description: 'A template.' });
