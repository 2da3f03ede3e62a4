/** Bulk actions for the selected deliveries and their recipients. */
import { Button, Group, Text } from '@mantine/core';
import { IconAddressBook, IconLock, IconPlayerStop, IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { PastDelivery } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { confirm, useConfirmedAction } from '../../components/confirm.tsx';
import { count } from '../../components/counts.tsx';
import { useOrg } from '../../paths.ts';
import type { PathPrefix } from '../../queries.ts';
import { Forecast, sendsNothing } from '../../replay/forecast.tsx';
import { texts } from '../../texts/activity.ts';
import { AddToList } from '../users/add-to-list.tsx';

const icon = { size: 14, stroke: 1.6 };
const keyOf = ({ occurrence, id }: PastDelivery) => ({ occurrence, id });

export function SelectionBar({ rows, clear }: { rows: PastDelivery[]; clear: () => void }) {
  const org = useOrg();
  const params = { path: { org } };
  const [adding, setAdding] = useState(false);
  const failed = rows.filter(({ status }) => status === 'failed' || status === 'unknown');
  const waiting = rows.filter(({ status }) => status === 'pending' || status === 'retrying');
  const users = [...new Set(rows.flatMap(({ user }) => user ?? []))];
  const refresh: PathPrefix[] = ['/api/o/{org}/activity/', '/api/o/{org}/failures/', '/api/o/{org}/stats/'];
  const retry = useAction({
    run: () => take(api.POST('/api/o/{org}/activity/retry/', { params, body: { deliveries: failed.map(keyOf) } })),
    done: ({ retried }) => texts.retried(retried),
    refresh,
    onDone: clear,
  });
  const askRetry = useAction({
    run: () =>
      take(api.POST('/api/o/{org}/activity/retry/preview/', { params, body: { deliveries: failed.map(keyOf) } })),
    onDone: async preview => {
      const confirmed = await confirm({
        title: texts.retryDeliveries(failed.length),
        children: <Forecast preview={preview} mayDuplicate={failed.some(({ status }) => status === 'unknown')} />,
        action: sendsNothing(preview) ? texts.retryAnyway : texts.retryNow,
      });
      if (confirmed) retry.mutate(undefined);
    },
  });
  const cancel = useConfirmedAction({
    question: {
      title: texts.cancelDeliveries(waiting.length),
      children: texts.cancelHint,
      action: texts.cancelNow,
      danger: true,
    },
    run: () => take(api.POST('/api/o/{org}/activity/cancel/', { params, body: { deliveries: waiting.map(keyOf) } })),
    done: ({ cancelled }) => texts.cancelled(cancelled),
    refresh,
    onDone: clear,
  });
  const lock = useConfirmedAction({
    question: {
      title: users.length === 1 ? texts.lockOneUser(users[0]) : texts.lockUsers(users.length),
      children: texts.lockHint,
      action: texts.lockNow,
      danger: true,
    },
    // Sequential, so that each change gets its own entry in the audit log.
    run: async () => {
      for (const username of users) {
        const path = { org, username };
        await take(api.PATCH('/api/o/{org}/u/{username}/profile/', { params: { path }, body: { locked: true } }));
      }
    },
    done: () => (users.length === 1 ? texts.lockedOne(users[0]) : texts.locked(users.length)),
    refresh: ['/api/o/{org}/u/', '/api/o/{org}/activity/'],
    onDone: clear,
  });
  return (
    <Group px="sm" py={8} gap="xs" role="toolbar" aria-label={texts.bulkActions} className="selection">
      <Text size="sm" fw={500} role="status" className="numbers" mr="xs">
        {texts.selected(count(rows.length))}
      </Text>
      {failed.length > 0 && (
        <GuardedButton
          permission="occurrence:write"
          leftSection={<IconRefresh {...icon} />}
          loading={askRetry.isPending || retry.isPending}
          onClick={() => askRetry.mutate(undefined)}
        >
          {texts.retry(count(failed.length))}
        </GuardedButton>
      )}
      {waiting.length > 0 && (
        <GuardedButton
          permission="occurrence:write"
          variant="default"
          leftSection={<IconPlayerStop {...icon} />}
          loading={cancel.isPending}
          onClick={() => cancel.ask(undefined)}
        >
          {texts.cancel(count(waiting.length))}
        </GuardedButton>
      )}
      {users.length > 0 && (
        <>
          <GuardedButton
            permission="distributionlist:write"
            variant="default"
            leftSection={<IconAddressBook {...icon} />}
            onClick={() => setAdding(true)}
          >
            {texts.addToList}
          </GuardedButton>
          <GuardedButton
            permission="user:write"
            variant="default"
            leftSection={<IconLock {...icon} />}
            loading={lock.isPending}
            onClick={() => lock.ask(undefined)}
          >
            {texts.lock}
          </GuardedButton>
        </>
      )}
      <Button variant="subtle" ml="auto" onClick={clear}>
        {texts.clear}
      </Button>
      {adding && <AddToList usernames={users} close={() => setAdding(false)} />}
    </Group>
  );
}
