import { Type } from 'typebox';
import { webhookLimits, webhookSecret, webhookTypes, webhookUrl } from '../webhooks.ts';
import { declareNoun, type FieldsOf, slugAdvice, withDefault } from './noun.ts';
import { Name, Slug } from './schemas.ts';

/** Stored encrypted. */
const Secret = Type.Optional(
  Type.String({
    ...webhookSecret,
    description:
      'Signs every message; share it with the receiver. If absent, the stored secret is kept, and one is generated for a ' +
      'new endpoint. Required when the URL of an existing webhook changes.',
  }),
);

export const webhook = declareNoun({
  name: 'webhook',
  description: 'An endpoint that receives operational events.',
  key: 'slug',
  fixed: { slug: slugAdvice },
  fields: {
    slug: Slug,
    name: Name,
    url: Type.String({ ...webhookUrl, description: 'URL that messages are posted to. Redirects are not followed.' }),
    types: Type.Array(Type.Enum([...webhookTypes]), {
      minItems: 1,
      maxItems: webhookTypes.length,
      description: 'Event types to send to this endpoint.',
    }),
    enabled: withDefault(true, Type.Boolean()),
  },
  more: { secret: Secret },
  max: webhookLimits.endpoints,
  normalize: ({ types }: { types: string[] }) => ({ types: webhookTypes.filter(type => types.includes(type)) }),
});
export type WebhookFields = FieldsOf<typeof webhook>;
