import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { layout } from '../../core/configuration/nouns/layout.ts';
import * as layouts from '../../services/configuration/layouts.ts';
import { listVersions } from '../../services/configuration/versions.ts';
import { forOrganizationAndProject, list, plain, slugsOf } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';
import { bodiesOf, entryEndpoints } from './entry-endpoints.ts';

const tag = 'Layouts';

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
  by: nullable(Type.String(), 'Name of the API key or account.'),
};
export const VersionSummary = Type.Object({ ...versionFields, current: Type.Boolean() }, { $id: 'VersionSummary' });
const LayoutVersion = Type.Object({ ...versionFields, body: Type.String() }, { $id: 'LayoutVersion' });

const bodies = bodiesOf('layout');

export const [ofOrganization, ofProject] = forOrganizationAndProject(owner =>
  entryEndpoints(
    ['org'],
    'layout',
    {
      kind: layouts.layout,
      tag,
      at: 'l',
      bodies,
      answer: Layout,
      cascades: true,
      list: (call, page) => layouts.listLayouts(call.deps, call.organization.id, call.project?.id ?? null, page),
      update: (call, id, check) => layouts.updateLayout(call.deps, slugsOf(call), id, call.body, check),
      descriptions: {
        update: 'Messages refer to layouts by name: a layout that is used by a message cannot be renamed.',
        delete: 'Fails while a notification uses it. History is kept.',
      },
    },
    owner,
  ),
);

export const [listOrganizationLayoutVersions, listProjectLayoutVersions] = forOrganizationAndProject((owner, lower) =>
  list(['org', 'layout'], {
    id: `list${owner}LayoutVersions`,
    summary: `List versions of ${lower} layout`,
    description: 'Newest first. To restore an older version, update the layout with its body.',
    tag,
    item: VersionSummary,
    list: ({ deps, organization, layout }, page) => listVersions(deps, organization.id, 'layout', layout.id, page),
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
      handle: ({ version: { content, ...version } }) => ({ ...version, body: content as string }),
    }),
);
