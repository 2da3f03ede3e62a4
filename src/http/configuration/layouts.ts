import { Type } from 'typebox';
import type { LayoutEntry } from '../../core/configuration/document.ts';
import { changesSchemaOf, newSchemaOf, responseFieldsOf } from '../../core/configuration/entries.ts';
import { layout } from '../../core/configuration/nouns/layout.ts';
import { createEntry, deleteEntry } from '../../services/configuration/entries.ts';
import * as layouts from '../../services/configuration/layouts.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, forOrganizationAndProject, list, plain, slugsOf } from '../server/route.ts';
import { CascadeQuery, Deleted, deletionOptions } from '../server/schemas.ts';

const tag = 'Layouts';

const NewLayout = newSchemaOf('NewLayout', layout);
const Changes = changesSchemaOf<LayoutEntry>('LayoutChanges', layout);

const Layout = Type.Object(
  {
    id: Type.Integer(),
    ...responseFieldsOf(layout),
    version: Type.Integer({ description: 'Current version of the body.' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'Layout' },
);

export const versionFields = {
  version: Type.Integer(),
  created_at: Type.String({ format: 'date-time' }),
  by: Type.Union([Type.String(), Type.Null()], { description: 'Name of the API key or account.' }),
};
export const VersionSummary = Type.Object({ ...versionFields, current: Type.Boolean() }, { $id: 'VersionSummary' });
const LayoutVersion = Type.Object({ ...versionFields, body: Type.String() }, { $id: 'LayoutVersion' });

export const [listOrganizationLayouts, listProjectLayouts] = forOrganizationAndProject((owner, lower) =>
  list(['org'], {
    id: `list${owner}Layouts`,
    summary: `List ${lower} layouts`,
    tag,
    item: Layout,
    list: (call, page) => layouts.listLayouts(call.deps, call.organization.id, projectOf(call), page),
  }),
);

export const [createOrganizationLayout, createProjectLayout] = forOrganizationAndProject((owner, lower) =>
  plain(['org'], {
    id: `create${owner}Layout`,
    summary: `Create ${lower} layout`,
    tag,
    status: 201,
    problems: [409],
    body: NewLayout,
    answer: Layout,
    handle: async call => {
      const made = await createEntry(call.deps, layouts.layout, slugsOf(call), call.body);
      return asCreated(call, `${apiPathOf(call)}l/${made.id}/`, made);
    },
  }),
);

export const [retrieveOrganizationLayout, retrieveProjectLayout] = forOrganizationAndProject((owner, lower) =>
  plain(['org', 'layout'], {
    id: `retrieve${owner}Layout`,
    summary: `Retrieve ${lower} layout`,
    tag,
    status: 200,
    answer: Layout,
    handle: call => withEtag(call, call.layout),
  }),
);

export const [updateOrganizationLayout, updateProjectLayout] = forOrganizationAndProject((owner, lower) =>
  plain(['org', 'layout'], {
    id: `update${owner}Layout`,
    summary: `Update ${lower} layout`,
    description: 'Messages refer to layouts by name: a layout that is used by a message cannot be renamed.',
    tag,
    status: 200,
    problems: [409],
    body: Changes,
    answer: Layout,
    handle: async call =>
      withEtag(call, await layouts.updateLayout(call.deps, slugsOf(call), call.layout.id, call.body, ifMatch(call))),
  }),
);

export const [listOrganizationLayoutVersions, listProjectLayoutVersions] = forOrganizationAndProject((owner, lower) =>
  list(['org', 'layout'], {
    id: `list${owner}LayoutVersions`,
    summary: `List versions of ${lower} layout`,
    description: 'Newest first. To restore an older version, update the layout with its body.',
    tag,
    item: VersionSummary,
    list: ({ deps, organization, layout }, page) =>
      layouts.listVersionsOfLayout(deps, organization.id, layout.id, page),
  }),
);

export const [retrieveOrganizationLayoutVersion, retrieveProjectLayoutVersion] = forOrganizationAndProject(
  (owner, lower) =>
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

export const [deleteOrganizationLayout, deleteProjectLayout] = forOrganizationAndProject((owner, lower) =>
  plain(['org', 'layout'], {
    id: `delete${owner}Layout`,
    summary: `Delete ${lower} layout`,
    description: 'Fails while a notification uses it. History is kept.',
    tag,
    status: 200,
    problems: [409],
    query: CascadeQuery,
    answer: Deleted,
    handle: call => {
      const { deps, layout: own, query } = call;
      return deleteEntry(deps, layouts.layout, slugsOf(call), own.id, deletionOptions(query), ifMatch(call));
    },
  }),
);
