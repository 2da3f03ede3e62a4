/** Draft of a layout of the organization or of a project. */
import { api, take, takeTagged } from '../api.ts';
import type { Layout } from '../api-types.ts';
import { type TaggedResource, useTaggedDraft } from '../editor/use-tagged-draft.ts';
import { starter } from './starter-layout.ts';

export interface LayoutScope {
  org: string;
  /** Undefined for a layout of the organization. */
  prj: string | undefined;
}

interface Draft {
  name: string;
  body: string;
}

const ofOrganization = '/api/o/{org}/l/{layout}/';
const ofProject = '/api/o/{org}/p/{prj}/l/{layout}/';

export function loadLayout(
  { org, prj }: LayoutScope,
  layout: number,
  signal?: AbortSignal,
): Promise<TaggedResource<Layout>> {
  return prj
    ? takeTagged(api.GET(ofProject, { params: { path: { org, prj, layout } }, signal }))
    : takeTagged(api.GET(ofOrganization, { params: { path: { org, layout } }, signal }));
}

export function deleteLayout({ org, prj }: LayoutScope, layout: number, dryRun: boolean) {
  const query = dryRun ? { dry_run: true } : {};
  return prj
    ? take(api.DELETE(ofProject, { params: { path: { org, prj, layout }, query } }))
    : take(api.DELETE(ofOrganization, { params: { path: { org, layout }, query } }));
}

export function useLayoutDraft(scope: LayoutScope, loaded: TaggedResource<Layout> | undefined, blankName: string) {
  const { org, prj } = scope;
  return useTaggedDraft<Layout, Draft>({
    scope: `layout ${org}/${prj ?? ''}`,
    loaded,
    toDraft: ({ name, body }) => ({ name, body }),
    blank: () => ({ name: blankName, body: starter }),
    create: body =>
      prj
        ? takeTagged(api.POST('/api/o/{org}/p/{prj}/l/', { params: { path: { org, prj } }, body }))
        : takeTagged(api.POST('/api/o/{org}/l/', { params: { path: { org } }, body })),
    steps: layout => [
      {
        fields: ['name', 'body'],
        save: (draft, base, headers) => {
          const body = {
            ...(draft.name !== base.name && { name: draft.name }),
            ...(draft.body !== base.body && { body: draft.body }),
          };
          return prj
            ? takeTagged(api.PATCH(ofProject, { params: { path: { org, prj, layout } }, body, headers }))
            : takeTagged(api.PATCH(ofOrganization, { params: { path: { org, layout } }, body, headers }));
        },
      },
    ],
    load: layout => loadLayout(scope, layout),
  });
}
