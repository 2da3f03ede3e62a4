import { declareNoun, slugAdvice } from './noun.ts';
import { Name, Slug } from './schemas.ts';

export const project = declareNoun({
  name: 'project',
  key: 'slug',
  fixed: { slug: slugAdvice },
  fields: { slug: Slug, name: Name },
});
