/** The user's active sessions. */
import { Button, Group, Text } from '@mantine/core';
import { IconDeviceLaptop, IconDeviceMobile } from '@tabler/icons-react';
import { api, take } from '../../api.ts';
import type { ListedSession } from '../../api-types.ts';
import { useAction } from '../../components/actions.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import { Mark } from '../../components/mark.tsx';
import { Section } from '../../components/page.tsx';
import { Failure } from '../../components/states.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useList } from '../../components/use-list.ts';
import { deviceName, isPhone } from '../../device.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/account.ts';

const methods = { password: texts.password, passkey: texts.passkey, oidc: texts.singleSignOn };

export function Sessions() {
  const list = useList(pages('/api/sessions/', {}));
  const endOthers = useConfirmedAction({
    question: {
      title: texts.signOutEverywhereElseQuestion,
      children: texts.signOutEverywhereElseHint,
      action: texts.signOutEverywhereElse,
      danger: true,
    },
    run: () => take(api.DELETE('/api/sessions/')),
    done: ({ ended }) => texts.signedOutOfOtherSessions(ended),
    refresh: ['/api/sessions/'],
  });
  const sorted = [...list.rows].sort(
    (a, b) => Number(b.current) - Number(a.current) || b.last_used_at.localeCompare(a.last_used_at),
  );
  return (
    <Section
      title={texts.sessions}
      aside={
        sorted.length > 1 && (
          <Button variant="default" loading={endOthers.isPending} onClick={() => endOthers.ask(undefined)}>
            {texts.signOutEverywhereElse}
          </Button>
        )
      }
    >
      {list.error && <Failure error={list.error} retry={list.retry} />}
      <ul className="rows" aria-label={texts.yourSessions}>
        {sorted.map(session => (
          <Row key={session.id} session={session} />
        ))}
      </ul>
      {list.hasMore && (
        <Button variant="subtle" mt="xs" loading={list.loadingMore} onClick={list.loadMore}>
          {texts.loadMore}
        </Button>
      )}
    </Section>
  );
}

function Row({ session }: { session: ListedSession }) {
  const { id, user_agent, origin, method, created_at, last_used_at, current } = session;
  const device = deviceName(user_agent);
  const Icon = isPhone(user_agent) ? IconDeviceMobile : IconDeviceLaptop;
  const end = useAction({
    run: () => take(api.DELETE('/api/sessions/{session}/', { params: { path: { session: id } } })),
    done: texts.signedOutOf(device),
    refresh: ['/api/sessions/'],
  });
  return (
    <li>
      <Group gap="sm" wrap="nowrap" align="flex-start" miw={0}>
        <Text component="span" c="dimmed" lh={0} pt={2} aria-hidden>
          <Icon size={18} stroke={1.6} />
        </Text>
        <div>
          <Group gap="xs">
            <Text size="sm" fw={500} title={user_agent ?? undefined}>
              {device}
            </Text>
            {current && <Mark color="teal">{texts.thisDevice}</Mark>}
          </Group>
          <Text size="xs" c="dimmed" component="div">
            {origin ?? texts.unknownAddress} · {methods[method]} · <TimeAgo at={last_used_at} text={texts.lastUsed} /> ·{' '}
            <TimeAgo at={created_at} text={texts.signedIn} />
          </Text>
        </div>
      </Group>
      {!current && (
        <Button
          variant="default"
          loading={end.isPending}
          onClick={() => end.mutate(undefined)}
          aria-label={texts.signOutOf(device, origin)}
        >
          {texts.signOut}
        </Button>
      )}
    </li>
  );
}
