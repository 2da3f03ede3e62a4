import { Type } from 'typebox';
import { ApplicationGuard } from '../../decision/guards/rate-guard.ts';
import { declareNoun, slugAdvice } from './noun.ts';
import { Name, Slug } from './schemas.ts';

export const application = declareNoun({
  name: 'application',
  key: 'slug',
  fixed: { slug: slugAdvice },
  fields: {
    slug: Slug,
    name: Name,
    guard: Type.Optional(
      Type.Unsafe<ApplicationGuard | null>({
        ...ApplicationGuard,
        type: ['object', 'null'],
        description: 'How many triggers are too many. Null: the default.',
      }),
    ),
  },
});
