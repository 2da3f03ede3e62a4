/** Page of a stored or new notification. */
import { useQuery } from '@tanstack/react-query';
import { useParams, useSearchParams } from 'react-router';
import { Page } from '../components/page.tsx';
import { Failure, Loading } from '../components/states.tsx';
import { Designer } from '../designer/designer.tsx';
import { useChannels } from '../designer/use-channels.ts';
import { loadNotification } from '../designer/use-draft.ts';
import { startOf } from '../events/samples.ts';
import { to } from '../paths.ts';
import { loadOnce } from '../queries.ts';
import { texts } from '../texts/designer.ts';

export default function Notification() {
  const { org = '', prj = '', app = '', evt = '', notification = '' } = useParams();
  const path = { org, prj, app, evt };
  const [search] = useSearchParams();
  const isNew = notification === 'new';
  const channels = useChannels(path);
  const loaded = useQuery({
    ...loadOnce(['notification', path, notification], signal => loadNotification(path, Number(notification), signal)),
    enabled: !isNew,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const error = loaded.error ?? channels.error;
  if (error) {
    return (
      <Page title={texts.notification} parents={[{ label: evt, to: to.event(org, prj, app, evt) }]}>
        <Failure error={error} retry={() => void loaded.refetch()} />
      </Page>
    );
  }
  if (!channels.data || (!isNew && !loaded.data)) return <Loading label={texts.loadingTheNotification} />;
  return (
    <Designer
      key={Object.values(path).join('/') + notification}
      path={path}
      loaded={loaded.data}
      channels={channels.data}
      start={isNew ? startOf(search.get('sample')) : {}}
      isWelcome={search.has('welcome')}
    />
  );
}
