/** Page of one layout. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { Page } from '../components/page.tsx';
import { Failure, Loading } from '../components/states.tsx';
import { LayoutEditor } from '../layouts/layout-editor.tsx';
import { loadLayout } from '../layouts/use-layout-draft.ts';
import { useLayouts } from '../layouts/use-layouts.ts';
import { to } from '../paths.ts';
import { loadOnce } from '../queries.ts';
import { texts } from '../texts/layouts.ts';

export default function Layout() {
  const { org = '', prj, layout = '' } = useParams();
  const isNew = layout === 'new';
  const isNumber = /^\d+$/.test(layout);
  // The URL may name a layout instead of its ID: /layouts/default.
  const layouts = useLayouts(org, prj, !isNew && !isNumber);
  const named = layouts.data?.find(({ name }) => name.toLowerCase() === layout.toLowerCase());
  const scope = { org, prj: isNumber || isNew ? prj : (named?.prj ?? undefined) };
  const id = isNumber ? Number(layout) : named?.id;
  const loaded = useQuery({
    // Not below the organization's query key, so that an invalidation does not reload what is being edited.
    ...loadOnce(['layout', scope, id], signal => loadLayout(scope, id!, signal)),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const error = loaded.error ?? (isNumber ? null : layouts.error);
  if (error) {
    return (
      <Page title={texts.layout} parents={[{ label: texts.layouts, to: to.layouts(org, prj) }]}>
        <Failure error={error} retry={() => void loaded.refetch()} />
      </Page>
    );
  }
  // An unknown name starts a new layout with that name.
  const isMissing = !isNumber && layouts.data !== undefined && named === undefined;
  if (isNew || isMissing) {
    return (
      <LayoutEditor key={`${prj}/${layout}`} scope={{ org, prj }} loaded={undefined} blankName={isNew ? '' : layout} />
    );
  }
  if (!loaded.data) return <Loading label={texts.loadingTheLayout} />;
  return <LayoutEditor key={`${scope.prj}/${id}`} scope={scope} loaded={loaded.data} />;
}
