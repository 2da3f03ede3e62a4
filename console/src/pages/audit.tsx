/** The audit log, newest first. */
import { Accordion, Anchor, Box, Button, Center, Group, Select, Skeleton, Text, TextInput } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { IconDownload, IconHistory } from '@tabler/icons-react';
import { useEffect } from 'react';
import { Link } from 'react-router';
import type { AuditEntry } from '../api-types.ts';
import { Changes } from '../components/changes.tsx';
import { CopyText } from '../components/copy.tsx';
import { Facts } from '../components/facts.tsx';
import { Mark } from '../components/mark.tsx';
import { Page } from '../components/page.tsx';
import { SearchInput } from '../components/search-input.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { exactTime, TimeAgo } from '../components/time.tsx';
import { useFilters } from '../components/use-filters.ts';
import { type List, useList } from '../components/use-list.ts';
import { to, useOrg } from '../paths.ts';
import { pages } from '../queries.ts';
import { texts } from '../texts/audit.ts';

const nouns = [
  'organization',
  'project',
  'application',
  'event',
  'notification',
  'layout',
  'channel',
  'list',
  'user',
  'address',
  'suppression',
  'occurrence',
  'delivery',
  'key',
  'account',
  'invite',
  'audit',
];

const colors: Record<string, string> = {
  create: 'teal',
  delete: 'red',
  remove: 'red',
  revoke: 'red',
  'sign in failed': 'orange',
};

export default function Audit() {
  const org = useOrg();
  const [filters, setFilters] = useFilters(['noun', 'actor', 'path', 'since', 'until']);
  const { noun, actor, path, since, until } = filters;
  const query = {
    ...(noun && { noun }),
    ...(actor && { actor }),
    ...(path && { path }),
    ...(since && { since: startOf(since) }),
    ...(until && { until: startOf(until, 1) }),
  };
  const list = useList(pages('/api/o/{org}/audit/', { path: { org }, query: { ...query } }), { live: true });
  const exported = `/api/o/${encodeURIComponent(org)}/audit/export/?${new URLSearchParams(query as Record<string, string>)}`;
  const filtered = Object.keys(filters).length > 0;
  return (
    <Page
      title={texts.auditLog}
      description={texts.description}
      actions={
        <Button
          component="a"
          href={exported}
          download
          variant="default"
          leftSection={<IconDownload size={15} stroke={1.6} />}
        >
          {texts.exportAsJsonLines}
        </Button>
      }
    >
      <Box className="card">
        <Group p="sm" gap="xs" role="search" aria-label={texts.filterTheAuditLog} align="flex-end">
          <Select
            size="xs"
            label={texts.type}
            placeholder={texts.any}
            clearable
            searchable
            w={150}
            data={nouns}
            value={noun ?? null}
            onChange={value => setFilters({ noun: value })}
          />
          <SearchInput
            label={texts.keyOrAccount}
            value={actor ?? ''}
            onChange={value => setFilters({ actor: value })}
            w={180}
          />
          <SearchInput
            label={texts.pathStartsWith}
            value={path ?? ''}
            onChange={value => setFilters({ path: value })}
            flex={1}
            miw={180}
          />
          <Day label={texts.from} value={since} onChange={value => setFilters({ since: value })} />
          <Day label={texts.until} value={until} onChange={value => setFilters({ until: value })} />
        </Group>
        <Entries
          list={list}
          empty={
            <Empty
              icon={<IconHistory size={28} stroke={1.4} />}
              title={filtered ? texts.noMatches : texts.noEntriesYet}
            >
              {filtered ? texts.noMatchesHint : texts.noEntriesHint}
            </Empty>
          }
        />
      </Box>
    </Page>
  );
}

function Day({ label, value, onChange }: { label: string; value?: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      size="xs"
      type="date"
      label={label}
      w={140}
      value={value ?? ''}
      onChange={event => onChange(event.currentTarget.value)}
    />
  );
}

/** Returns the start of a day in the viewer's time zone, optionally some days later. */
function startOf(day: string, later = 0): string | undefined {
  const moment = new Date(`${day}T00:00:00`);
  if (Number.isNaN(moment.getTime())) return undefined;
  moment.setDate(moment.getDate() + later);
  return moment.toISOString();
}

function Entries({ list, empty }: { list: List<AuditEntry>; empty: React.ReactNode }) {
  const { ref, entry } = useIntersection({ rootMargin: '400px' });
  const atEnd = entry?.isIntersecting ?? false;
  const { hasMore, loadingMore, loadMore } = list;
  useEffect(() => {
    if (atEnd && hasMore && !loadingMore) loadMore();
  }, [atEnd, hasMore, loadingMore, loadMore]);
  if (list.error) return <Failure error={list.error} retry={list.retry} />;
  if (list.loading) return [0, 1, 2, 3, 4, 5].map(row => <Skeleton key={row} height={28} m="sm" w="auto" />);
  if (list.rows.length === 0) return empty;
  return (
    <>
      <Accordion multiple chevronPosition="left" classNames={{ item: 'audit-item' }} aria-label={texts.entries}>
        {list.rows.map(row => (
          <Entry key={row.id} row={row} />
        ))}
      </Accordion>
      {hasMore && (
        <Center ref={ref} py="sm">
          <Button variant="subtle" loading={loadingMore} onClick={loadMore}>
            {texts.loadMore}
          </Button>
        </Center>
      )}
    </>
  );
}

function Entry({ row }: { row: AuditEntry }) {
  const org = useOrg();
  const page = row.action === 'delete' ? undefined : pageOf(org, row.noun, row.path);
  return (
    <Accordion.Item value={String(row.id)}>
      <Accordion.Control>
        <Group gap="xs" wrap="wrap" justify="space-between">
          <Group gap="xs" miw={0}>
            <Mark color={colors[row.action] ?? 'gray'}>{row.action}</Mark>
            <Text component="span" size="sm" c="dimmed">
              {row.noun}
            </Text>
            <Text component="span" size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
              {row.path || org}
            </Text>
          </Group>
          <Text component="span" size="xs" c="dimmed">
            {row.actor.name} · <TimeAgo at={row.at} />
          </Text>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Facts
          facts={[
            [texts.by, `${row.actor.name} (${row.actor.kind})`],
            [texts.at, exactTime(row.at)],
            ...(row.origin ? [[texts.from, row.origin] as [string, string]] : []),
            ...(row.request_id
              ? [[texts.request, <CopyText key="request" value={row.request_id} />] as [string, React.ReactNode]]
              : []),
            ...(page
              ? [
                  [
                    texts.current,
                    <Anchor key="page" component={Link} to={page} inherit>
                      {texts.open}
                    </Anchor>,
                  ] as [string, React.ReactNode],
                ]
              : []),
          ]}
        />
        <Changes before={row.before} after={row.after} />
      </Accordion.Panel>
    </Accordion.Item>
  );
}

/** Returns the page of the entry's subject, if its path identifies one. */
function pageOf(org: string, noun: string, path: string): string | undefined {
  const parts = path.split('/');
  const [first = '', second = '', third = ''] = parts;
  switch (noun) {
    case 'audit':
      return undefined;
    case 'organization':
      return to.settings(org);
    case 'channel':
      return parts.length > 1 ? to.channel(org, second, first) : to.channel(org, first);
    case 'user':
    case 'address':
      return first ? to.user(org, first) : to.users(org);
    case 'event':
    case 'notification':
      return third ? to.event(org, first, second, third) : undefined;
    case 'occurrence':
    case 'delivery':
      return to.occurrence(org, first);
    case 'list':
      return to.lists(org, first);
    case 'suppression':
      return to.suppressions(org);
    case 'key':
      return to.keys(org);
    case 'account':
    case 'invite':
      return to.team(org);
    default:
      return undefined;
  }
}
