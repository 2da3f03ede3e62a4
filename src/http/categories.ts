import { Type } from 'typebox';
import { CategoryEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import * as categories from '../services/categories.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { list, placeOf, plain, slugsOf } from './route.ts';
import { Deleted, DeleteQuery } from './schemas.ts';

const tag = 'Categories';
const fields = ['name', 'description', 'kind', 'default', 'channel_defaults', 'channels', 'quiet_hours', 'locales'];

const NewCategory = fieldsOf<CategoryEntry>('NewCategory', CategoryEntry, ['slug', ...fields]);
const Changes = changesOf<categories.CategoryChanges>('CategoryChanges', CategoryEntry, fields, ['slug']);

const translation = Type.Object({ name: Type.Optional(Type.String()), description: Type.Optional(Type.String()) });
const Category = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    kind: Type.Enum(['required', 'transactional', 'promotional'], {
      description: 'required cannot be switched off, transactional can, promotional carries one-click unsubscribe.',
    }),
    default: Type.Boolean({ description: 'Whether it is on until the recipient chooses.' }),
    channel_defaults: Type.Record(Type.String(), Type.Boolean(), { description: 'What differs for a channel type.' }),
    channels: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'Channel types that the recipient may choose between. Null: all of them.',
    }),
    quiet_hours: Type.Enum(['respect', 'ignore']),
    locales: Type.Record(Type.String(), translation, { description: 'Name and description in other languages.' }),
  },
  { $id: 'Category' },
);

export const listCategories = list(['org'], {
  id: 'listCategories',
  summary: 'List categories',
  description: 'Events that name none belong to `general`, which is there without being listed.',
  tag,
  item: Category,
  list: ({ deps, organization }, page) => categories.listCategories(deps, organization.id, page),
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
    return created(call, `${placeOf(call)}categories/${made.slug}/`, made);
  },
});

export const retrieveCategory = plain(['org', 'category'], {
  id: 'retrieveCategory',
  summary: 'Retrieve category',
  tag,
  status: 200,
  answer: Category,
  handle: async call => tagged(call, await categories.getCategory(call.deps, call.organization.id, call.category.slug)),
});

export const patchCategory = plain(['org', 'category'], {
  id: 'patchCategory',
  summary: 'Change category',
  description: 'What people chose about it stays, also while it is required.',
  tag,
  status: 200,
  body: Changes,
  answer: Category,
  handle: async call => {
    const { deps, category, body } = call;
    return tagged(call, await categories.updateCategory(deps, slugsOf(call), category.slug, body, ifMatch(call)));
  },
});

export const deleteCategory = plain(['org', 'category'], {
  id: 'deleteCategory',
  summary: 'Delete category',
  description: 'Refused while an event belongs to it. What people chose about it stays on record.',
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
