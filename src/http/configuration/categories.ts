import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { category as noun } from '../../core/configuration/nouns/category.ts';
import { category } from '../../services/configuration/categories.ts';
import { entryEndpoints } from './entry-endpoints.ts';

export const entry = entryEndpoints(['org'], 'category', {
  kind: category,
  tag: 'Categories',
  at: 'categories',
  answer: Type.Object(responseFieldsOf(noun), { $id: 'Category' }),
  descriptions: {
    list: 'Events without a category belong to `general`, which exists without being listed.',
    update: 'Recipients keep their preferences for it, even while it is required.',
    delete: 'Fails while an event belongs to it. The preferences of recipients are kept.',
  },
});
