/** The suppression list: addresses and domains to which nothing is sent. */

import { Button, Select, Text } from '@mantine/core';
import { IconDownload, IconMailOff, IconTrash, IconUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { NewSuppression as NewEntry, Suppression } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { Breakable } from '../../components/breakable.tsx';
import { useConfirmedAction } from '../../components/confirm.tsx';
import type { Column } from '../../components/data-table.tsx';
import { GuardedIcon } from '../../components/guarded.tsx';
import { Mark } from '../../components/mark.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { TablePage } from '../../components/table-page.tsx';
import { dayOf, TimeAgo } from '../../components/time.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { dotted } from '../../texts/isolated.ts';
import { texts } from '../../texts/suppressions.ts';
import { ImportSuppressions } from './import-suppressions.tsx';
import { NewSuppression, reasonOptions, typeOptions } from './new-suppression.tsx';

type Reason = Suppression['reason'];
type ChannelType = NewEntry['channel_type'];

const icon = { size: 15, stroke: 1.6 };
const reasonColors: Record<string, string> = { bounced: 'red', complained: 'orange' };

/** Says which projects an entry is limited to, or undefined if it applies to all channels. */
function scopeText(projects: Suppression['projects']): string | undefined {
  if (!projects) return undefined;
  return projects.length > 0 ? texts.onlyProjects(projects.join(', ')) : texts.noProjects;
}

export default function Suppressions() {
  const org = useOrg();
  const [importing, setImporting] = useState(false);
  const [{ search = '', reason, type }, setFilters] = useFilters(['search', 'reason', 'type']);
  const list = useList(
    pages('/api/o/{org}/suppressions/', {
      path: { org },
      query: {
        ...(search && { search }),
        ...(reason && { reason: reason as Reason }),
        ...(type && { channel_type: type as ChannelType }),
      },
    }),
  );
  const remove = useConfirmedAction({
    question: entry => ({
      title: texts.removeQuestion(entry.target),
      children: texts.removeHint,
      action: texts.removeAction,
      danger: true,
    }),
    run: ({ id }: Suppression) =>
      take(api.DELETE('/api/o/{org}/suppressions/{suppression}/', { params: { path: { org, suppression: id } } })),
    done: (_, { target }) => texts.removed(target),
    refresh: ['/api/o/{org}/suppressions/'],
  });
  const columns: Column<Suppression>[] = [
    {
      head: texts.target,
      cell: ({ target, channel_type, detail, projects }) => (
        <>
          <Text component="span" size="sm" fw={500} display="block">
            <Breakable text={target} />
          </Text>
          <Text component="span" size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {dotted(getChannelType(channel_type).name, scopeText(projects), detail)}
          </Text>
        </>
      ),
    },
    {
      head: texts.reason,
      width: 140,
      cell: ({ reason: why }) => <Mark color={reasonColors[why] ?? 'gray'}>{texts.reasons[why] ?? why}</Mark>,
    },
    {
      head: texts.source,
      from: 'sm',
      width: 130,
      cell: ({ source }) => (
        <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {source}
        </Text>
      ),
    },
    {
      head: texts.since,
      from: 'xs',
      width: 150,
      cell: ({ since, expires_at }) => (
        <Text component="div" size="sm" c="dimmed">
          <TimeAgo at={since} />
          {expires_at && <Text size="xs">{texts.expiresOn(dayOf(expires_at))}</Text>}
        </Text>
      ),
    },
    {
      head: texts.remove,
      hidesHeader: true,
      width: 48,
      align: 'right',
      cell: entry => (
        <GuardedIcon permission="user:write" label={texts.removeTarget(entry.target)} onClick={() => remove.ask(entry)}>
          <IconTrash {...icon} />
        </GuardedIcon>
      ),
    },
  ];
  return (
    <TablePage
      title={texts.suppressions}
      description={texts.description}
      create={{ permission: 'user:write', label: texts.add, dialog: close => <NewSuppression close={close} /> }}
      actions={
        <>
          <Button
            component="a"
            href={`/api/o/${encodeURIComponent(org)}/suppressions/export/`}
            download="suppressions.csv"
            variant="default"
            leftSection={<IconDownload {...icon} />}
          >
            {texts.export}
          </Button>
          <GuardedButton
            permission="user:write"
            variant="default"
            leftSection={<IconUpload {...icon} />}
            onClick={() => setImporting(true)}
          >
            {texts.import}
          </GuardedButton>
        </>
      }
      filters={
        <>
          <SearchInput
            label={texts.search}
            value={search}
            onChange={value => setFilters({ search: value })}
            w={{ base: '100%', xs: 320 }}
          />
          <Select
            size="xs"
            aria-label={texts.reason}
            placeholder={texts.anyReason}
            clearable
            w={150}
            data={reasonOptions}
            value={reason ?? null}
            onChange={value => setFilters({ reason: value })}
          />
          <Select
            size="xs"
            aria-label={texts.channelType}
            placeholder={texts.anyChannelType}
            clearable
            w={160}
            data={typeOptions}
            value={type ?? null}
            onChange={value => setFilters({ type: value })}
          />
        </>
      }
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      empty={{ icon: IconMailOff, title: texts.emptyTitle, hint: texts.emptyHint }}
      noMatches={Boolean(search || reason || type) && { title: texts.noMatches, hint: texts.noMatchesHint }}
    >
      {importing && <ImportSuppressions close={() => setImporting(false)} />}
    </TablePage>
  );
}
