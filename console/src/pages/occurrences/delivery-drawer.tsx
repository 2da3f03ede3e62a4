/** One delivery with its status, reason, attempts and message. Its ID is in the URL, so that it can be shared. */
import { Anchor, Drawer, Group, Stack, Table, Text, Title } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiError } from '../../api.ts';
import type { Delivery } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { CopyText } from '../../components/copy.tsx';
import { MessageView } from '../../components/message-view.tsx';
import { Reason, waitsUntil } from '../../components/reason.tsx';
import { Failure, Loading } from '../../components/states.tsx';
import { DeliveryBadge, StateBadge } from '../../components/status.tsx';
import { deliveryStates } from '../../components/statuses.ts';
import { clockAndDay, clockTime, exactTime, milliseconds, TimeAgo } from '../../components/time.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { to, useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { useRetry } from '../../replay/use-retry.tsx';
import { texts } from '../../texts/occurrences.ts';
import { Feedback } from './feedback.tsx';
import { Updates } from './updates.tsx';

export function DeliveryDrawer({ identifier, rows }: { identifier: string; rows: Delivery[] }) {
  const org = useOrg();
  const [{ delivery }, setFilters] = useFilters(['delivery']);
  const id = Number(delivery);
  const shown = rows.find(row => row.id === id);
  // The delivery may not be among the loaded rows.
  const found = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/', { path: { org, identifier, delivery: id } }),
    enabled: id > 0 && !shown,
  });
  const row = shown ?? found.data;
  return (
    <Drawer
      opened={id > 0}
      onClose={() => setFilters({ delivery: null })}
      size="lg"
      title={texts.delivery(delivery ?? '')}
    >
      {row ? (
        <Details identifier={identifier} delivery={row} />
      ) : found.error instanceof ApiError && found.error.status === 404 ? (
        <Text c="dimmed">{texts.deliveryNotFound}</Text>
      ) : found.error ? (
        <Failure error={found.error} />
      ) : (
        id > 0 && <Loading />
      )}
    </Drawer>
  );
}

/** The id of a bundle is a UUID of version 8. */
function digestTexts(id: string | null) {
  return id?.[14] === '8'
    ? { name: texts.bundle, sent: texts.bundleHint, planned: texts.bundlePlannedHint }
    : { name: texts.digest, sent: texts.digestHint, planned: texts.digestPlannedHint };
}

function Details({ identifier, delivery }: { identifier: string; delivery: Delivery }) {
  const org = useOrg();
  const path = { org, identifier, delivery: delivery.id };
  const { status, user } = delivery;
  const { name, sent, planned } = digestTexts(delivery.digest);
  const attempts = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/attempts/', { path }, [
      status,
      delivery.attempts,
    ]),
    enabled: delivery.attempts > 0,
  });
  const message = useQuery({
    ...read('/api/o/{org}/occurrence/{identifier}/deliveries/{delivery}/message/', { path }),
    staleTime: 60_000,
  });
  const retry = useRetry();
  return (
    <Stack gap="lg">
      <Group justify="space-between">
        <DeliveryBadge delivery={delivery} />
        {(status === 'failed' || status === 'unknown') && (
          <GuardedButton
            permission="occurrence:write"
            variant="default"
            leftSection={<IconRefresh size={14} stroke={1.6} />}
            loading={retry.isPending}
            onClick={() => retry.ask({ occurrence: identifier, id: delivery.id, status })}
          >
            {texts.retry}
          </GuardedButton>
        )}
      </Group>
      <Table variant="vertical" withRowBorders={false} verticalSpacing={4} aria-label={texts.deliveryDetails}>
        <Table.Tbody>
          <Fact name={texts.recipient}>
            {user ? (
              <Anchor component={Link} to={to.user(org, user)} inherit>
                {user}
              </Anchor>
            ) : (
              <Text c="dimmed">{texts.deletedUser}</Text>
            )}
          </Fact>
          <Fact name={texts.address}>{delivery.address ? <CopyText value={delivery.address} /> : '–'}</Fact>
          <Fact name={texts.channel}>{delivery.channel ?? '–'}</Fact>
          <Fact name={texts.notification}>{delivery.notification ?? '–'}</Fact>
          {delivery.variant && <Fact name={texts.variant}>{delivery.variant}</Fact>}
          {(delivery.reason || delivery.detail) && (
            <Fact name={texts.reason}>
              <Reason reason={delivery.reason} until={waitsUntil(delivery)} />
            </Fact>
          )}
          {delivery.detail && (
            // Not only providers have something to say: an attachment may be missing, or the connection lost.
            <Fact name={detailLabel(delivery)}>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {delivery.detail}
              </Text>
            </Fact>
          )}
          <Fact name={texts.attempts}>
            {delivery.provider ? texts.attemptsVia(delivery.attempts, delivery.provider) : delivery.attempts}
          </Fact>
          {delivery.digest && <Fact name={name}>{(status === 'sent' ? sent : planned)(delivery.digest)}</Fact>}
          <Fact name={texts.created}>
            <TimeAgo at={delivery.created_at} />
          </Fact>
          {delivery.sent_at && (
            <Fact name={texts.sent}>
              <TimeAgo at={delivery.sent_at} />
            </Fact>
          )}
          {delivery.next_attempt_at && status !== 'sent' && (
            <Fact name={texts.nextAttempt}>
              <TimeAgo at={delivery.next_attempt_at} />
            </Fact>
          )}
          {delivery.retry_until && <Fact name={texts.triedUntil}>{clockAndDay(delivery.retry_until)}</Fact>}
        </Table.Tbody>
      </Table>
      {(attempts.data?.length ?? 0) > 0 && (
        <Stack gap="xs">
          <Title order={3}>{texts.attempts}</Title>
          <Table fz="sm" aria-label={texts.attempts}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{texts.attemptAt}</Table.Th>
                <Table.Th>{texts.attemptProvider}</Table.Th>
                <Table.Th>{texts.attemptOutcome}</Table.Th>
                <Table.Th>{texts.attemptDuration}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {attempts.data!.map(({ at, provider, outcome, detail, duration_ms }) => (
                <Table.Tr key={at}>
                  <Table.Td title={exactTime(at)}>{clockTime(at)}</Table.Td>
                  <Table.Td>{provider ?? '–'}</Table.Td>
                  <Table.Td>
                    <StateBadge state={deliveryStates[outcome]!} />
                    {detail && (
                      <Text size="xs" c="dimmed" mt={4} style={{ overflowWrap: 'anywhere' }}>
                        {detail}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td className="numbers">{milliseconds(duration_ms)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {delivery.attempts > attempts.data!.length && status !== 'sending' && (
            <Text size="xs" c="dimmed">
              {texts.attemptsNotListed(delivery.attempts - attempts.data!.length)}
            </Text>
          )}
        </Stack>
      )}
      <Feedback {...path} status={status} enabled={delivery.attempts > 0} />
      <Updates {...path} enabled={status === 'sent'} />
      <Stack gap="xs">
        <Title order={3}>{texts.message}</Title>
        {message.data && <MessageView message={message.data} />}
        {message.isPending && <Loading label={texts.loadingTheMessage} />}
        {message.error &&
          (message.error instanceof ApiError && message.error.status === 404 ? (
            <Text size="sm" c="dimmed">
              {message.error.message}
            </Text>
          ) : (
            <Failure error={message.error} retry={() => void message.refetch()} />
          ))}
      </Stack>
    </Stack>
  );
}

function detailLabel({ status, state }: Delivery): string {
  if (status === 'suppressed') return texts.decidedBy;
  return state === 'held' ? texts.whyPaused : texts.details;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" w={130} fw={400} fz="sm" c="dimmed" pl={0} bg="transparent">
        {name}
      </Table.Th>
      <Table.Td fz="sm">{children}</Table.Td>
    </Table.Tr>
  );
}
