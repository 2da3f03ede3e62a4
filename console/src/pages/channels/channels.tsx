import { Group, Stack, Text, ThemeIcon } from '@mantine/core';
import { IconPlus, IconSend } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import type { ChannelDetails } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { lookOfMedium } from '../../media.ts';
import { to, useOrg, useProject } from '../../places.ts';
import { type ChannelPlace, useChannels } from './channel-api.ts';
import { ChannelHealth, ChannelState } from './channel-state.tsx';

export default function Channels() {
  const org = useOrg();
  const [project] = useProject();
  const { data: projects = [] } = useProjects();
  const navigate = useNavigate();
  const shown = projects.filter(({ slug }) => !project || slug === project);
  return (
    <Page
      title="Channels"
      description="How messages are sent: each channel has a provider and optional fallbacks."
      actions={
        <GuardedButton
          permission="channel:write"
          leftSection={<IconPlus size={14} />}
          onClick={() => navigate(to.newChannel(org, project))}
        >
          New channel
        </GuardedButton>
      }
    >
      <Stack>
        <ChannelTable place={{ org }} title="Organization channels" />
        {shown.map(({ slug, name }) => (
          <ChannelTable key={slug} place={{ org, prj: slug }} title={`Channels of ${name}`} />
        ))}
      </Stack>
    </Page>
  );
}

function ChannelTable({ place, title }: { place: ChannelPlace; title: string }) {
  const { org, prj } = place;
  const { data, error, isPending, refetch } = useChannels(org);
  const list = {
    rows: data?.filter(({ project }) => project === (prj ?? null)) ?? [],
    loading: isPending,
    error: data ? null : error,
    retry: () => void refetch(),
  };
  const columns: Column<ChannelDetails>[] = [
    { head: 'Channel', cell: channel => <Name channel={channel} />, width: '32%' },
    { head: 'Providers', cell: channel => <Providers channel={channel} />, from: 'sm', width: '24%' },
    { head: 'State', cell: channel => <ChannelState channel={channel} />, width: '20%' },
    { head: 'Last 24 hours', cell: ({ health }) => <ChannelHealth health={health} />, from: 'sm' },
  ];
  return (
    <Section title={title} padded={false}>
      <DataTable
        label={title}
        list={list}
        columns={columns}
        rowKey={({ slug }) => slug}
        rowTo={({ slug }) => to.channel(org, slug, prj)}
        empty={
          prj ? (
            <Text size="sm" c="dimmed" px="md" pb="md">
              No channels of its own. Its notifications can use the organization channels.
            </Text>
          ) : (
            <Empty icon={<IconSend size={28} stroke={1.4} />} title="No channels yet">
              Organization channels can be used in every project. Start with email through your own mail server, or with
              the sandbox, which shows messages here instead of sending them.
            </Empty>
          )
        }
      />
    </Section>
  );
}

function Name({ channel: { name, slug, type } }: { channel: ChannelDetails }) {
  const look = lookOfMedium(type);
  return (
    <Group gap="sm" wrap="nowrap">
      <ThemeIcon variant="default" size={30} aria-label={look.name} role="img">
        <look.icon size={17} stroke={1.6} />
      </ThemeIcon>
      <div style={{ minWidth: 0 }}>
        <Text size="sm" fw={500} truncate>
          {name}
        </Text>
        <Text size="xs" c="dimmed" className="mono">
          {slug}
        </Text>
      </div>
    </Group>
  );
}

function Providers({ channel: { providers } }: { channel: ChannelDetails }) {
  if (providers.length > 0) return providers.map(({ use }) => use).join(', then ');
  return (
    <Text component="span" inherit c="dimmed">
      None
    </Text>
  );
}
