import { Type } from 'typebox';
import { EventGuard } from '../../decision/guards/guard.ts';
import { generalSlug } from '../../decision/preferences.ts';
import type { JsonObject } from '../../json.ts';
import { declareNoun, slugAdvice, withDefault } from './noun.ts';
import { Name, Slug, unmanaged } from './schemas.ts';

export const event = declareNoun({
  name: 'event',
  key: 'slug',
  fixed: { slug: slugAdvice },
  fields: {
    slug: Slug,
    name: Name,
    active: withDefault(true, Type.Boolean({ description: 'False: triggers are refused.' })),
    category: Type.Optional(Type.String({ ...Slug, description: 'Slug of a category. Absent: general.' })),
    context_schema: Type.Optional(
      // Not a union, which would report each mistake once per branch.
      Type.Unsafe<JsonObject | null>({
        type: ['object', 'null'],
        additionalProperties: true,
        description: `JSON Schema of the context. Triggers that do not match it are refused. ${unmanaged} Null (the initial value): none.`,
      }),
    ),
    guard: Type.Optional(
      Type.Unsafe<EventGuard | null>({
        ...EventGuard,
        type: ['object', 'null'],
        description: 'When an occurrence waits for an approval, and how many triggers are too many. Null: the default.',
      }),
    ),
  },
  kept: { context_schema: null },
  normalize: ({ category }: { category?: string }) => ({ category: category === generalSlug ? undefined : category }),
});
