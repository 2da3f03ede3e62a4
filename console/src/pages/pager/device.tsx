/** The switch that registers this browser for web push, and what prevents it. */
import { Button, Group, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, isTransient, take } from '../../api.ts';
import type { Me } from '../../api-types.ts';
import { showSuccess, showWarning, useAction } from '../../components/actions.tsx';
import { Section } from '../../components/page.tsx';
import { isAppleTouch } from '../../device.ts';
import { type RegisteredBrowser, readOne, remove, write } from '../../pager/store.ts';
import { useOrg } from '../../paths.ts';
import { loadOnce } from '../../queries.ts';
import { useSession } from '../../session.tsx';
import { texts } from '../../texts/pager.ts';

export function Device({ me }: { me: Me }) {
  const { account } = useSession();
  const obstacle = obstacleTo(me);
  return (
    <Section title={texts.device}>
      {me.username === null ? (
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            {texts.noUser}
          </Text>
          <Text size="sm">{texts.noUserHint(account.email)}</Text>
        </Stack>
      ) : (
        <Stack gap="sm">
          {me.locked && <Text size="sm">{texts.locked}</Text>}
          <Wake username={me.username} publicKey={me.public_key} obstacle={obstacle} />
        </Stack>
      )}
    </Section>
  );
}

/** Returns what prevents web push. On an iPhone, only an installed app has it. */
function obstacleTo({ public_key }: Me): string | undefined {
  if (public_key === null) return texts.noChannel;
  if (!('PushManager' in window) || !('Notification' in window) || !navigator.serviceWorker)
    return isAppleTouch(navigator.userAgent, navigator.maxTouchPoints) ? texts.installFirst : texts.unsupported;
  return Notification.permission === 'denied' ? texts.denied : undefined;
}

interface WakeProps {
  username: string;
  publicKey: string | null;
  obstacle: string | undefined;
}

function Wake({ username, publicKey, obstacle }: WakeProps) {
  const org = useOrg();
  const path = { org };
  const { data: browser, refetch } = useQuery(
    loadOnce(['this browser', org, username], () => restore(org, username, publicKey)),
  );
  const turnOn = useAction({
    run: async () => {
      if ((await Notification.requestPermission()) !== 'granted') return undefined;
      const subscription = await subscribe(publicKey!);
      await take(api.POST('/api/o/{org}/me/push/', { params: { path }, body: subscription }));
      await write('browsers', { org, username, subscription } satisfies RegisteredBrowser);
      return subscription;
    },
    onDone: subscription => {
      void refetch();
      if (subscription) showSuccess(texts.woken(username));
      else showWarning(texts.denied);
    },
  });
  const turnOff = useAction({
    run: async ({ subscription }: RegisteredBrowser) => {
      await take(api.POST('/api/o/{org}/me/push/unregister/', { params: { path }, body: subscription }));
      await remove('browsers', org);
    },
    done: texts.notWoken,
    onDone: () => void refetch(),
  });
  const test = useAction({
    run: ({ subscription }: RegisteredBrowser) =>
      take(api.POST('/api/o/{org}/me/push/test/', { params: { path }, body: subscription })),
    onDone: ({ ok, detail }) => (ok ? showSuccess(texts.testSent) : showWarning(texts.testFailed(detail))),
  });
  const isOn = Boolean(browser) && !obstacle;
  return (
    <>
      <Switch
        size="md"
        label={texts.wake}
        description={obstacle ?? texts.wakeHint}
        checked={isOn}
        disabled={Boolean(obstacle) || turnOn.isPending || turnOff.isPending}
        onChange={() => (browser ? turnOff.mutate(browser) : turnOn.mutate(undefined))}
      />
      {isOn && browser && (
        <Group gap="sm">
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate(browser)}>
            {texts.sendTest}
          </Button>
          <Text size="xs" c="dimmed" flex="1 1 200px">
            {texts.wakeRule}
          </Text>
        </Group>
      )}
    </>
  );
}

/**
 * Returns how this browser is registered; null if it is not. It is registered again each time, because push services end
 * subscriptions.
 */
async function restore(org: string, username: string, publicKey: string | null): Promise<RegisteredBrowser | null> {
  const stored = await readOne<RegisteredBrowser>('browsers', org);
  if (!stored || stored.username !== username || publicKey === null || Notification.permission !== 'granted')
    return null;
  const worker = await navigator.serviceWorker.getRegistration('/o/');
  const current = await worker?.pushManager.getSubscription();
  if (!current) return null;
  const browser = { org, username, subscription: toSubscription(current) };
  const registering = take(
    api.POST('/api/o/{org}/me/push/', { params: { path: { org } }, body: browser.subscription }),
  );
  // Without a connection, it stays as it was.
  await registering.catch(error => {
    if (!isTransient(error)) throw error;
  });
  await write('browsers', browser);
  return browser;
}

/** A browser has one subscription: one with the key of another organization is replaced. */
async function subscribe(publicKey: string) {
  const { pushManager } = await navigator.serviceWorker.ready;
  const options = { userVisibleOnly: true, applicationServerKey: publicKey };
  const made = await pushManager.subscribe(options).catch(async error => {
    const old = await pushManager.getSubscription();
    if (!old) throw error;
    await old.unsubscribe();
    return pushManager.subscribe(options);
  });
  return toSubscription(made);
}

function toSubscription(subscription: PushSubscription): RegisteredBrowser['subscription'] {
  const { endpoint = '', keys: { p256dh = '', auth = '' } = {} } = subscription.toJSON();
  return { endpoint, keys: { p256dh, auth } };
}
