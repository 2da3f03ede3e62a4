import { Type } from 'typebox';
import { LayoutEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import * as layouts from '../services/layouts.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { both, list, placeOf, plain, slugsOf } from './route.ts';
import { CascadeQuery, Deleted, deletionOf } from './schemas.ts';

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

export const [listOrganizationLayouts, listProjectLayouts] = both((owner, lower) =>
  list(['org'], {
    id: `list${owner}Layouts`,
    summary: `List ${lower} layouts`,
    tag,
    item: Layout,
    list: (call, page) => layouts.listLayouts(call.deps, call.organization.id, projectOf(call), page),
  }),
);

export const [createOrganizationLayout, createProjectLayout] = both((owner, lower) =>
  plain(['org'], {
    id: `create${owner}Layout`,
    summary: `Create ${lower} layout`,
    tag,
    status: 201,
    problems: [409],
    body: NewLayout,
    answer: Layout,
    handle: async call => {
      const made = await layouts.createLayout(call.deps, slugsOf(call), call.body);
      return created(call, `${placeOf(call)}l/${made.id}/`, made);
    },
  }),
);

export const [retrieveOrganizationLayout, retrieveProjectLayout] = both((owner, lower) =>
  plain(['org', 'layout'], {
    id: `retrieve${owner}Layout`,
    summary: `Retrieve ${lower} layout`,
    tag,
    status: 200,
    answer: Layout,
    handle: call => tagged(call, call.layout),
  }),
);

export const [patchOrganizationLayout, patchProjectLayout] = both((owner, lower) =>
  plain(['org', 'layout'], {
    id: `patch${owner}Layout`,
    summary: `Change ${lower} layout`,
    description: 'Messages find a layout by its name: one that is named by a message keeps it.',
    tag,
    status: 200,
    problems: [409],
    body: Changes,
    answer: Layout,
    handle: async call =>
      tagged(call, await layouts.updateLayout(call.deps, slugsOf(call), call.layout.id, call.body, ifMatch(call))),
  }),
);

export const [listOrganizationLayoutVersions, listProjectLayoutVersions] = both((owner, lower) =>
  list(['org', 'layout'], {
    id: `list${owner}LayoutVersions`,
    summary: `List versions of ${lower} layout`,
    description: 'The newest first. An older one comes back by sending its body once more.',
    tag,
    item: VersionSummary,
    list: ({ deps, organization, layout }, page) =>
      layouts.listVersionsOfLayout(deps, organization.id, layout.id, page),
  }),
);

export const [retrieveOrganizationLayoutVersion, retrieveProjectLayoutVersion] = both((owner, lower) =>
  plain(['org', 'layout', 'version'], {
    id: `retrieve${owner}LayoutVersion`,
    summary: `Retrieve version of ${lower} layout`,
    tag,
    status: 200,
    answer: LayoutVersion,
    handle: async ({ deps, organization, layout, version }) =>
      (await layouts.findVersionOfLayout(deps, organization.id, layout.id, version.number))!,
  }),
);

function projectOf(found: object): number | null {
  return (found as { project?: { id: number } }).project?.id ?? null;
}

export const [deleteOrganizationLayout, deleteProjectLayout] = both((owner, lower) =>
  plain(['org', 'layout'], {
    id: `delete${owner}Layout`,
    summary: `Delete ${lower} layout`,
    description: 'Refused while a notification names it. History stays.',
    tag,
    status: 200,
    problems: [409],
    query: CascadeQuery,
    answer: Deleted,
    handle: call =>
      layouts.deleteLayout(call.deps, slugsOf(call), call.layout.id, deletionOf(call.query), ifMatch(call)),
  }),
);
