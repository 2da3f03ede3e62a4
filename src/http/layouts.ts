import { Type } from 'typebox';
import { LayoutEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import {
  createLayout,
  findVersionOfLayout,
  listLayouts,
  listVersionsOfLayout,
  updateLayout,
} from '../services/layouts.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { list, placeOf, plain, type Route, slugsOf } from './route.ts';

const tag = 'Layouts';

const NewLayout = fieldsOf<LayoutEntry>('NewLayout', LayoutEntry, ['name', 'body']);
const Changes = changesOf<Partial<LayoutEntry>>('LayoutChanges', LayoutEntry, ['name', 'body']);

const Layout = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String({ description: 'The one named default is that of messages that name none.' }),
    body: Type.String({ description: 'HTML with Liquid, around {{ content }}.' }),
    version: Type.Integer({ description: 'Of the body.' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Layout' },
);

export const versionFields = {
  version: Type.Integer(),
  created_at: Type.String({ format: 'date-time' }),
  by: Type.Union([Type.String(), Type.Null()], { description: 'The name of the key or account.' }),
};
export const VersionSummary = Type.Object({ ...versionFields, current: Type.Boolean() }, { $id: 'VersionSummary' });
const LayoutVersion = Type.Object({ ...versionFields, body: Type.String() }, { $id: 'LayoutVersion' });

type Layouts = '/api/o/:org/l/' | '/api/o/:org/p/:prj/l/';

function routesOf(path: Layouts, noun: 'OrganizationLayout' | 'ProjectLayout'): Route[] {
  const one: `${Layouts}:layout/` = `${path}:layout/`;
  const words = noun === 'ProjectLayout' ? 'project layout' : 'organization layout';
  return [
    list({
      path,
      permission: 'template:read',
      id: `list${noun}s`,
      summary: `List ${words}s`,
      tag,
      item: Layout,
      list: (call, page) => listLayouts(call.deps, call.organization.id, projectOf(call), page),
    }),
    plain({
      method: 'POST',
      path,
      permission: 'template:write',
      id: `create${noun}`,
      summary: `Create ${words}`,
      tag,
      status: 201,
      problems: [409],
      body: NewLayout,
      answer: Layout,
      handle: async call => {
        const made = await createLayout(call.deps, slugsOf(call), call.body);
        return created(call, `${placeOf(call)}l/${made.id}/`, made);
      },
    }),
    plain({
      method: 'GET',
      path: one,
      permission: 'template:read',
      id: `retrieve${noun}`,
      summary: `Retrieve ${words}`,
      tag,
      status: 200,
      answer: Layout,
      handle: call => tagged(call, call.layout),
    }),
    plain({
      method: 'PATCH',
      path: one,
      permission: 'template:write',
      id: `patch${noun}`,
      summary: `Change ${words}`,
      description: 'Messages find a layout by its name: one that is named by a message keeps it.',
      tag,
      status: 200,
      problems: [409],
      body: Changes,
      answer: Layout,
      handle: async call =>
        tagged(call, await updateLayout(call.deps, slugsOf(call), call.layout.id, call.body, ifMatch(call))),
    }),
    list({
      path: `${one}versions/`,
      permission: 'template:read',
      id: `list${noun}Versions`,
      summary: `List versions of ${words}`,
      description: 'The newest first. An older one comes back by sending its body once more.',
      tag,
      item: VersionSummary,
      list: ({ deps, organization, layout }, page) => listVersionsOfLayout(deps, organization.id, layout.id, page),
    }),
    plain({
      method: 'GET',
      path: `${one}versions/:version/`,
      permission: 'template:read',
      id: `retrieve${noun}Version`,
      summary: `Retrieve version of ${words}`,
      tag,
      status: 200,
      answer: LayoutVersion,
      handle: async ({ deps, organization, layout, version }) =>
        (await findVersionOfLayout(deps, organization.id, layout.id, version.number))!,
    }),
  ];
}

function projectOf(found: object): number | null {
  return (found as { project?: { id: number } }).project?.id ?? null;
}

export const layoutRoutes: Route[] = [
  ...routesOf('/api/o/:org/l/', 'OrganizationLayout'),
  ...routesOf('/api/o/:org/p/:prj/l/', 'ProjectLayout'),
];
