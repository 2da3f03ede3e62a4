import { Group, Stack, Text, ThemeIcon } from '@mantine/core';
import { IconPlus, IconSend } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import type { ChannelDetails } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { to, useOrg, useProject } from '../../paths.ts';
import { texts } from '../../texts/channels.ts';
import { type ChannelScope, useChannels } from './channel-api.ts';
import { ChannelHealth, ChannelState } from './channel-state.tsx';

export default function Channels() {
  const org = useOrg();
  const [project] = useProject();
  const { data: projects = [] } = useProjects();
  const navigate = useNavigate();
  const shown = projects.filter(({ slug }) => !project || slug === project);
  return (
    <Page
      title={texts.channels}
      description={texts.description}
      actions={
        <GuardedButton
          permission="channel:write"
          leftSection={<IconPlus size={14} />}
          onClick={() => navigate(to.newChannel(org, project))}
        >
          {texts.newChannel}
        </GuardedButton>
      }
    >
      <Stack>
        <ChannelTable scope={{ org }} title={texts.organizationChannels} />
        {shown.map(({ slug, name }) => (
          <ChannelTable key={slug} scope={{ org, prj: slug }} title={texts.channelsOf(name)} />
        ))}
      </Stack>
    </Page>
  );
}

function ChannelTable({ scope, title }: { scope: ChannelScope; title: string }) {
  const { org, prj } = scope;
  const { data, error, isPending, refetch } = useChannels(org);
  const list = {
    rows: data?.filter(({ project }) => project === (prj ?? null)) ?? [],
    loading: isPending,
    error: data ? null : error,
    retry: () => void refetch(),
  };
  const columns: Column<ChannelDetails>[] = [
    { head: texts.channel, cell: channel => <Name channel={channel} />, width: '32%' },
    { head: texts.providers, cell: channel => <Providers channel={channel} />, from: 'sm', width: '24%' },
    { head: texts.state, cell: channel => <ChannelState channel={channel} />, width: '20%' },
    { head: texts.last24Hours, cell: ({ health }) => <ChannelHealth health={health} />, from: 'sm' },
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
              {texts.noProjectChannels}
            </Text>
          ) : (
            <Empty icon={<IconSend size={28} stroke={1.4} />} title={texts.noChannelsYet}>
              {texts.noChannelsHint}
            </Empty>
          )
        }
      />
    </Section>
  );
}

function Name({ channel: { name, slug, type } }: { channel: ChannelDetails }) {
  const channelType = getChannelType(type);
  return (
    <Group gap="sm" wrap="nowrap">
      <ThemeIcon variant="default" size={30} aria-label={channelType.name} role="img">
        <channelType.icon size={17} stroke={1.6} />
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
      {texts.none}
    </Text>
  );
}
