/** Messages of sandbox channels, shown like in an email client: the list beside the open message. */

import { Anchor, Box, Button, Group, ScrollArea, Skeleton, Stack, Text, UnstyledButton } from '@mantine/core';
import { useInViewport, useMediaQuery } from '@mantine/hooks';
import { IconArrowLeft, IconMailbox } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { Link } from 'react-router';
import type { Sandboxed } from '../api-types.ts';
import { getChannelType } from '../channel-types.ts';
import { fill } from '../components/fill.tsx';
import { MessageView } from '../components/message-view.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { TimeAgo } from '../components/time.tsx';
import { useFilters } from '../components/use-filters.ts';
import { type List, useList } from '../components/use-list.ts';
import { linkToEvent, to, useOrg } from '../paths.ts';
import { pages, read } from '../queries.ts';
import { dotted } from '../texts/isolated.ts';
import { texts } from '../texts/sandbox.ts';

/** Identifies a message in the URL by its occurrence and delivery. */
const keyOf = ({ occurrence, delivery }: Sandboxed) => `${occurrence}.${delivery}`;

export default function Sandbox() {
  const org = useOrg();
  const [{ message: chosen }, setFilters] = useFilters(['message']);
  const small = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
  const list = useList(pages('/api/o/{org}/sandbox/', { path: { org } }), { live: true });
  const rows = list.rows;
  const open = rows.find(row => keyOf(row) === chosen) ?? (small || chosen ? undefined : rows[0]);
  const choose = (row: Sandboxed | undefined) => setFilters({ message: row ? keyOf(row) : null });
  const showList = !small || !chosen;

  return (
    <Page title={texts.sandboxMailbox} description={texts.description}>
      {list.error && <Failure error={list.error} retry={list.retry} />}
      {!list.error && !list.loading && rows.length === 0 && (
        <Box className="card">
          <Empty icon={<IconMailbox size={28} stroke={1.4} />} title={texts.noMessagesYet}>
            {fill(texts.noMessagesHint, { provider: <span className="mono">sandbox</span> })}
          </Empty>
        </Box>
      )}
      {!list.error && (list.loading || rows.length > 0) && (
        <Box className="card mailbox">
          {showList && <Messages list={list} open={open} choose={choose} />}
          {(!small || chosen) && (
            <Box component="section" aria-label={texts.message} p="md" miw={0} style={{ overflow: 'auto' }}>
              {small && (
                <Button
                  variant="subtle"
                  px={6}
                  mb="sm"
                  leftSection={<IconArrowLeft size={15} />}
                  onClick={() => choose(undefined)}
                >
                  {texts.allMessages}
                </Button>
              )}
              {open ? (
                <OpenMessage key={keyOf(open)} row={open} />
              ) : (
                <NoMessage chosen={chosen} loading={list.loading} />
              )}
            </Box>
          )}
        </Box>
      )}
    </Page>
  );
}

interface MessagesProps {
  list: List<Sandboxed>;
  open: Sandboxed | undefined;
  choose: (row: Sandboxed) => void;
}

function Messages({ list, open, choose }: MessagesProps) {
  const box = useRef<HTMLDivElement>(null);
  // The arrow keys move through the messages, as in an email client.
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...(box.current?.querySelectorAll<HTMLButtonElement>('button[data-message]') ?? [])];
    const next = buttons[buttons.indexOf(document.activeElement as HTMLButtonElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.click();
  };
  return (
    <ScrollArea.Autosize className="mailbox-list" mah="calc(100vh - 190px)" viewportProps={{ tabIndex: -1 }}>
      <Box component="nav" aria-label={texts.messages} ref={box} onKeyDown={onKeyDown}>
        {list.loading && [0, 1, 2, 3].map(row => <Skeleton key={row} height={44} m="sm" w="auto" />)}
        {list.rows.map(row => (
          <Item key={keyOf(row)} row={row} open={open !== undefined && keyOf(row) === keyOf(open)} choose={choose} />
        ))}
        {list.hasMore && (
          <Group justify="center" p="sm">
            <Button variant="subtle" loading={list.loadingMore} onClick={list.loadMore}>
              {texts.loadMore}
            </Button>
          </Group>
        )}
      </Box>
    </ScrollArea.Autosize>
  );
}

/** Loads a message when its row scrolls into view, because the list has no subjects. */
function useMessage({ occurrence: identifier, delivery }: Sandboxed, enabled = true) {
  const org = useOrg();
  return useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/message/', {
      path: { org, identifier, delivery },
    }),
    enabled,
    staleTime: 60_000,
  });
}

function Item({ row, open, choose }: { row: Sandboxed; open: boolean; choose: (row: Sandboxed) => void }) {
  const channelType = getChannelType(row.type ?? '');
  const { ref, inViewport } = useInViewport<HTMLButtonElement>();
  const { data } = useMessage(row, inViewport);
  return (
    <UnstyledButton
      ref={ref}
      className="mailbox-item"
      data-message
      aria-current={open ? 'true' : undefined}
      onClick={() => choose(row)}
    >
      <Group gap="sm" wrap="nowrap" align="flex-start">
        <Text component="span" c="dimmed" lh={0} pt={3} role="img" aria-label={channelType.name}>
          <channelType.icon size={17} stroke={1.6} />
        </Text>
        <Box miw={0} flex={1}>
          <Group justify="space-between" wrap="nowrap" gap="xs">
            <Text size="sm" fw={500} truncate>
              {row.address ?? row.user ?? texts.deletedUser}
            </Text>
            <Text component="span" size="xs" c="dimmed">
              <TimeAgo at={row.sent_at} />
            </Text>
          </Group>
          <Text size="sm" truncate>
            {data ? data.title || data.text : '\u00a0'}
          </Text>
          <Text size="xs" c="dimmed" truncate>
            {dotted(row.notification, row.event)}
          </Text>
        </Box>
      </Group>
    </UnstyledButton>
  );
}

function OpenMessage({ row }: { row: Sandboxed }) {
  const org = useOrg();
  const { occurrence: identifier, delivery } = row;
  const { data, error, refetch } = useMessage(row);
  const event = row.event ? linkToEvent(org, row.event) : undefined;
  return (
    <Stack gap="sm">
      <Stack gap={2}>
        <Line label={texts.to}>
          {row.user ? (
            <Anchor component={Link} to={to.user(org, row.user)} inherit>
              {row.address ?? row.user}
            </Anchor>
          ) : (
            (row.address ?? texts.deletedUser)
          )}
        </Line>
        <Line label={texts.channel}>
          {row.channel ?? texts.deletedChannel}
          {row.type && ` (${getChannelType(row.type).name})`}
        </Line>
        <Line label={texts.event}>
          {event ? (
            <Anchor component={Link} to={event} inherit>
              {row.event}
            </Anchor>
          ) : (
            texts.deletedEvent
          )}
          {' · '}
          <Anchor component={Link} to={to.delivery(org, identifier, delivery)} inherit>
            {texts.occurrence}
          </Anchor>
        </Line>
        <Line label={texts.received}>
          <TimeAgo at={row.sent_at} />
        </Line>
      </Stack>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton height={260} />}
      {data && <MessageView message={data} />}
    </Stack>
  );
}

function Line({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <Group gap="xs" wrap="nowrap" align="baseline">
      <Text size="xs" c="dimmed" w={72} flex="none">
        {label}
      </Text>
      <Text component="div" size="sm" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </Group>
  );
}

function NoMessage({ chosen, loading }: { chosen: string | undefined; loading: boolean }) {
  if (loading) return <Skeleton height={260} />;
  return (
    <Empty title={chosen ? texts.messageNotLoaded : texts.chooseAMessage}>{chosen && texts.messageNotLoadedHint}</Empty>
  );
}
