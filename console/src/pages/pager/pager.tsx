/** The pager, for a phone: what is open, who is on call, and whether this device is woken. */
import { Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useNavigate } from 'react-router';
import { Page } from '../../components/page.tsx';
import { listen } from '../../pager/store.ts';
import { useOrg } from '../../paths.ts';
import { read, refreshAll } from '../../queries.ts';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/pager.ts';
import { Device } from './device.tsx';
import { Duty } from './duty.tsx';
import { OpenIncidents } from './open-incidents.tsx';

export default function Pager() {
  const org = useOrg();
  const can = useCan();
  const { data: me } = useQuery(read('/api/o/{org}/me/', { path: { org } }));
  useWorker();
  return (
    <Page title={texts.pager}>
      <Stack gap="md" maw={720} className="pager">
        <OpenIncidents />
        {can('schedule:read') && me && <Duty username={me.username} />}
        {me && <Device me={me} />}
      </Stack>
    </Page>
  );
}

/** Registers the service worker: from then on, the console starts without a connection. */
function useWorker(): void {
  const navigate = useNavigate();
  const queries = useQueryClient();
  useEffect(() => {
    const { serviceWorker } = navigator;
    // Without it, such as on a page without HTTPS, the pager works as long as it is open.
    serviceWorker?.register('/console-sw.js', { scope: '/o/' }).catch(() => undefined);
    const onMessage = ({ data }: MessageEvent<{ open?: string }>) => {
      if (data.open) void navigate(data.open);
    };
    serviceWorker?.addEventListener('message', onMessage);
    const end = listen(change => {
      if (change === 'arrived') void refreshAll(queries, ['/api/o/{org}/incidents/']);
    });
    return () => {
      serviceWorker?.removeEventListener('message', onMessage);
      end();
    };
  }, [navigate, queries]);
}
