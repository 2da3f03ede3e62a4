import { Type } from 'typebox';
import type { CategoryEntry } from '../../core/configuration/document.ts';
import { changesSchemaOf, newSchemaOf, responseFieldsOf } from '../../core/configuration/entries.ts';
import { category as noun } from '../../core/configuration/nouns/category.ts';
import { listRows } from '../../db/configuration/rows.ts';
import { category } from '../../services/configuration/categories.ts';
import { createEntry, deleteEntry, getEntry, updateEntry } from '../../services/configuration/entries.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, list, plain, slugsOf } from '../server/route.ts';
import { Deleted, DeleteQuery, deletionOptions } from '../server/schemas.ts';

const tag = 'Categories';
const NewCategory = newSchemaOf('NewCategory', noun);
const Changes = changesSchemaOf<CategoryEntry>('CategoryChanges', noun);
const Category = Type.Object(responseFieldsOf(noun), { $id: 'Category' });

export const listCategories = list(['org'], {
  id: 'listCategories',
  summary: 'List categories',
  description: 'Events without a category belong to `general`, which exists without being listed.',
  tag,
  item: Category,
  list: ({ deps, organization }, page) => listRows(deps.db, organization.id, 'category', { page }),
});

export const createCategory = plain(['org'], {
  id: 'createCategory',
  summary: 'Create category',
  tag,
  status: 201,
  problems: [409],
  body: NewCategory,
  answer: Category,
  handle: async call => {
    const made = await createEntry(call.deps, category, slugsOf(call), call.body);
    return asCreated(call, `${apiPathOf(call)}categories/${made.slug}/`, made);
  },
});

export const retrieveCategory = plain(['org', 'category'], {
  id: 'retrieveCategory',
  summary: 'Retrieve category',
  tag,
  status: 200,
  answer: Category,
  handle: async call => withEtag(call, await getEntry(call.deps, category, slugsOf(call), call.category.id)),
});

export const updateCategory = plain(['org', 'category'], {
  id: 'updateCategory',
  summary: 'Update category',
  description: 'Recipients keep their preferences for it, even while it is required.',
  tag,
  status: 200,
  body: Changes,
  answer: Category,
  handle: async call => {
    const { deps, category: own, body } = call;
    return withEtag(call, await updateEntry(deps, category, slugsOf(call), own.id, body, ifMatch(call)));
  },
});

export const deleteCategory = plain(['org', 'category'], {
  id: 'deleteCategory',
  summary: 'Delete category',
  description: 'Fails while an event belongs to it. The preferences of recipients are kept.',
  tag,
  status: 200,
  problems: [409],
  query: DeleteQuery,
  answer: Deleted,
  handle: call => {
    const { deps, category: own, query } = call;
    return deleteEntry(deps, category, slugsOf(call), own.id, deletionOptions(query), ifMatch(call));
  },
});
