/** One layout: its HTML, and an email in it. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { Page } from '../components/page.tsx';
import { Failure, Waiting } from '../components/states.tsx';
import { LayoutEditor } from '../layouts/layout-editor.tsx';
import { loadLayout } from '../layouts/use-layout-draft.ts';
import { useLayouts } from '../layouts/use-layouts.ts';
import { to } from '../places.ts';
import { texts } from '../texts/layouts.ts';

export default function Layout() {
  const { org = '', prj, layout = '' } = useParams();
  const isNew = layout === 'new';
  const isNumber = /^\d+$/.test(layout);
  // Layouts are known to people by their names: /layouts/default is the one that is called so.
  const layouts = useLayouts(org, prj, !isNew && !isNumber);
  const named = layouts.data?.find(({ name }) => name.toLowerCase() === layout.toLowerCase());
  const place = { org, prj: isNumber || isNew ? prj : (named?.prj ?? undefined) };
  const id = isNumber ? Number(layout) : named?.id;
  const loaded = useQuery({
    // Not below the organization's key: what is being edited is never read again behind somebody's back.
    queryKey: ['editing', org, place.prj ?? '', 'layout', id],
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: ({ signal }) => loadLayout(place, id!, signal),
  });
  const error = loaded.error ?? (isNumber ? null : layouts.error);
  if (error) {
    return (
      <Page title={texts.layout} parents={[{ label: texts.layouts, to: to.layouts(org, prj) }]}>
        <Failure error={error} retry={() => void loaded.refetch()} />
      </Page>
    );
  }
  // A name that no layout has yet is what a new one is called.
  const isMissing = !isNumber && layouts.data !== undefined && named === undefined;
  if (isNew || isMissing) {
    return (
      <LayoutEditor key={`${prj}/${layout}`} place={{ org, prj }} loaded={undefined} blankName={isNew ? '' : layout} />
    );
  }
  if (!loaded.data) return <Waiting label={texts.loadingTheLayout} />;
  return <LayoutEditor key={`${place.prj}/${id}`} place={place} loaded={loaded.data} />;
}
