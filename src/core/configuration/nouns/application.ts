import { declareNoun, slugAdvice } from './noun.ts';
import { Name, Slug } from './schemas.ts';

export const application = declareNoun({
  name: 'application',
  key: 'slug',
  fixed: { slug: slugAdvice },
  fields: { slug: Slug, name: Name },
});
