import { Type } from 'typebox';
import { CategoryEntry } from '../../core/configuration/document.ts';
import { createSchemaOf, updateSchemaOf } from '../../core/configuration/entries.ts';
import * as queries from '../../db/configuration/categories.ts';
import * as categories from '../../services/configuration/categories.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, list, plain, slugsOf } from '../server/route.ts';
import { Deleted, DeleteQuery } from '../server/schemas.ts';

const tag = 'Categories';
const fields = [
  'name',
  'description',
  'kind',
  'default',
  'channel_defaults',
  'channels',
  'quiet_hours',
  'track',
  'locales',
];

const NewCategory = createSchemaOf<CategoryEntry>('NewCategory', CategoryEntry, ['slug', ...fields]);
const Changes = updateSchemaOf<categories.CategoryChanges>('CategoryChanges', CategoryEntry, fields, ['slug']);

const translation = Type.Object({ name: Type.Optional(Type.String()), description: Type.Optional(Type.String()) });
const Category = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    kind: Type.Enum(['required', 'transactional', 'promotional'], {
      description:
        'Recipients cannot turn off required, can turn off transactional, and can unsubscribe from promotional with one click.',
    }),
    default: Type.Boolean({ description: 'Whether it is on until the recipient chooses.' }),
    channel_defaults: Type.Record(Type.String(), Type.Boolean(), {
      description: 'Exceptions to the default by channel type.',
    }),
    channels: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'Channel types that the recipient can choose from. Null: all.',
    }),
    quiet_hours: Type.Enum(['respect', 'ignore']),
    track: Type.Boolean({
      description: 'Whether opens and clicks of emails are recorded. Never for required categories.',
    }),
    locales: Type.Record(Type.String(), translation, { description: 'Name and description in other languages.' }),
  },
  { $id: 'Category' },
);

export const listCategories = list(['org'], {
  id: 'listCategories',
  summary: 'List categories',
  description: 'Events without a category belong to `general`, which exists without being listed.',
  tag,
  item: Category,
  list: ({ deps, organization }, page) => queries.listCategories(deps.db, organization.id, page),
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
    const made = await categories.createCategory(call.deps, slugsOf(call), call.body);
    return asCreated(call, `${apiPathOf(call)}categories/${made.slug}/`, made);
  },
});

export const retrieveCategory = plain(['org', 'category'], {
  id: 'retrieveCategory',
  summary: 'Retrieve category',
  tag,
  status: 200,
  answer: Category,
  handle: async call =>
    withEtag(call, await categories.getCategory(call.deps, call.organization.id, call.category.slug)),
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
    const { deps, category, body } = call;
    return withEtag(call, await categories.updateCategory(deps, slugsOf(call), category.slug, body, ifMatch(call)));
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
    const { deps, category, query } = call;
    return categories.deleteCategory(deps, slugsOf(call), category.slug, query.dry_run ?? false, ifMatch(call));
  },
});
