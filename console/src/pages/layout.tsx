/** One layout: its HTML, and an email in it. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { api, takeTagged } from '../api.ts';
import { Page } from '../components/page.tsx';
import { Failure, Waiting } from '../components/states.tsx';
import { LayoutEditor } from '../layouts/layout-editor.tsx';
import { to } from '../places.ts';

export default function Layout() {
  const { org = '', prj, layout = '' } = useParams();
  const isNew = layout === 'new';
  const loaded = useQuery({
    queryKey: ['editing', org, prj ?? '', 'layout', layout],
    enabled: !isNew,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: ({ signal }) => {
      const id = Number(layout);
      return prj
        ? takeTagged(
            api.GET('/api/o/{org}/p/{prj}/l/{layout}/', { params: { path: { org, prj, layout: id } }, signal }),
          )
        : takeTagged(api.GET('/api/o/{org}/l/{layout}/', { params: { path: { org, layout: id } }, signal }));
    },
  });
  if (loaded.error) {
    return (
      <Page title="Layout" parents={[{ label: 'Layouts', to: to.layouts(org, prj) }]}>
        <Failure error={loaded.error} retry={() => void loaded.refetch()} />
      </Page>
    );
  }
  if (!isNew && !loaded.data) return <Waiting label="Loading the layout" />;
  return <LayoutEditor key={`${prj}/${layout}`} org={org} prj={prj} loaded={loaded.data} />;
}
