import { Alert, Fieldset, Grid, Stack } from '@mantine/core';
import { IconFlask, IconPlayerPause, IconPlayerPlay, IconPower } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import type { ChannelDetails } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { Facts } from '../../components/facts.tsx';
import { GuardedItem } from '../../components/guarded.tsx';
import { MoreMenu } from '../../components/more-menu.tsx';
import { Page, Section } from '../../components/page.tsx';
import { pendingPage } from '../../components/pending.tsx';
import { Failure, Loading } from '../../components/states.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { to, useOrg } from '../../paths.ts';
import { PauseBanners } from '../../pauses/pause-banner.tsx';
import { askToPause } from '../../pauses/pause-dialog.tsx';
import { resume } from '../../pauses/resume.ts';
import { usePauses } from '../../pauses/use-pauses.ts';
import type { PathPrefix } from '../../queries.ts';
import { useRefusal } from '../../session.tsx';
import { texts } from '../../texts/channels.ts';
import {
  type ChannelScope,
  changeChannel,
  channelPaths,
  channelQuery,
  deleteChannel,
  pauseChannel,
  useChannel,
  useProviderKinds,
} from './channel-api.ts';
import { ChannelDomain } from './channel-domain.tsx';
import { ChannelFeedback } from './channel-feedback.tsx';
import { ChannelFields, draftOfChannel, toChannelFields, withoutSecrets } from './channel-form.tsx';
import { ChannelInteractions } from './channel-interactions.tsx';
import { ChannelHealth, ChannelState } from './channel-state.tsx';
import { TestDrawer } from './test-drawer.tsx';

const icon = { size: 15, stroke: 1.6 };

export default function ChannelPage() {
  const org = useOrg();
  const { prj, channel: slug = '' } = useParams();
  const scope: ChannelScope = { org, prj };
  const { data, error, refetch } = useChannel(scope, slug);
  const isPaused = data?.value.paused || Boolean(data?.value.reputation?.bulk_paused_at);
  const pauses = usePauses({ enabled: isPaused }).filter(
    pause => pause.kind === 'channel' && pause.path === (prj ? `${prj}/${slug}` : slug),
  );
  const queries = useQueryClient();
  // The ETag changes with the actions of this page.
  const [filled, setFilled] = useState({ count: 0, etag: undefined as string | null | undefined });
  const current = () => queries.getQueryData<{ etag: string | null }>(channelQuery(scope, slug).queryKey)?.etag;
  const refill = () => setFilled(({ count }) => ({ count: count + 1, etag: current() }));
  const updateEtag = () => setFilled(({ count }) => ({ count, etag: current() }));
  const parents = [{ label: texts.channels, to: to.channels(org, prj) }];
  if (!data) return pendingPage(slug, parents, { error, refetch });
  const channel = data.value;
  return (
    <Page
      title={channel.name}
      parents={parents}
      aside={<ChannelState channel={channel} />}
      actions={<Actions scope={scope} channel={channel} onChanged={updateEtag} />}
    >
      <PauseBanners pauses={pauses} onResumed={updateEtag} />
      {channel.problem && (
        <Alert color="red" title={texts.thisChannelCannotSend} mb="md">
          {channel.problem}
        </Alert>
      )}
      <Grid>
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Stack>
            <Section title={texts.settings}>
              <Form
                key={`${channel.slug} ${filled.count}`}
                scope={scope}
                channel={channel}
                etag={data.etag}
                ownEtag={filled.etag}
                refill={refill}
              />
            </Section>
            {channel.type === 'email' && <ChannelDomain key={channel.slug} scope={scope} channel={channel.slug} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack>
            <Section title={texts.about}>
              <Facts
                facts={[
                  [texts.type, getChannelType(channel.type).name],
                  [texts.slug, <CopyText key="slug" value={channel.slug} label={texts.copyTheSlug} />],
                  [texts.belongsTo, channel.project ? texts.project(channel.project) : texts.organization],
                  [texts.lastHours(channel.health.hours), <ChannelHealth key="health" health={channel.health} />],
                  [texts.created, <TimeAgo key="created" at={channel.created_at} />],
                  [texts.changed, <TimeAgo key="changed" at={channel.updated_at} />],
                ]}
              />
            </Section>
            <ChannelInteractions interactions={channel.interactions} />
            {channel.feedback && <ChannelFeedback feedback={channel.feedback} reputation={channel.reputation} />}
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

interface FormProps {
  scope: ChannelScope;
  channel: ChannelDetails;
  etag: string | null;
  ownEtag: string | null | undefined;
  refill: () => void;
}

function Form({ scope, channel, etag, ownEtag, refill }: FormProps) {
  const kinds = useProviderKinds();
  const queries = useQueryClient();
  const refusal = useRefusal()('channel:write');
  const editing = useApiForm({
    initialValues: draftOfChannel(channel),
    draft: {
      key: `${scope.org}/${scope.prj ?? ''}/channels/${channel.slug}`,
      etag,
      ownEtag,
      toStored: draft => withoutSecrets(draft, kinds.data ?? []),
    },
    run: (draft, headers) => changeChannel(scope, channel.slug, toChannelFields(channel.type, draft), headers),
    done: texts.savedToast,
    refresh: channelPaths,
    onDone: refill,
  });
  if (!kinds.data) return kinds.error ? <Failure error={kinds.error} /> : <Loading />;
  return (
    <ApiForm
      of={editing}
      isLong
      submit={texts.save}
      permission="channel:write"
      reload={() => void queries.refetchQueries(channelQuery(scope, channel.slug)).then(refill)}
    >
      <Fieldset variant="unstyled" disabled={refusal !== undefined}>
        <ChannelFields
          kinds={kinds.data}
          type={channel.type}
          draft={editing.form.values}
          onChange={editing.form.setValues}
          errors={editing.form.errors}
        />
      </Fieldset>
    </ApiForm>
  );
}

interface ActionsProps {
  scope: ChannelScope;
  channel: ChannelDetails;
  onChanged: () => void;
}

function Actions({ scope, channel, onChanged }: ActionsProps) {
  const navigate = useNavigate();
  const [params, setParams] = useSearchParams();
  const [deleting, setDeleting] = useState(false);
  const testing = params.has('test');
  const setTesting = (open: boolean) => setParams(open ? { test: '' } : {}, { replace: true });
  const refresh: PathPrefix[] = [...channelPaths, '/api/o/{org}/pauses/'];
  const path = scope.prj ? `${scope.prj}/${channel.slug}` : channel.slug;
  const resuming = useAction({
    run: () => resume(scope.org, { kind: 'channel', path }),
    done: texts.resumedToast,
    refresh,
    onDone: onChanged,
  });
  const pause = () =>
    askToPause({
      name: channel.name,
      run: body => pauseChannel(scope, channel.slug, body),
      refresh,
      onDone: onChanged,
    });
  const enable = useAction({
    run: (enabled: boolean) => changeChannel(scope, channel.slug, { enabled }),
    done: (_, enabled) => (enabled ? texts.enabledToast : texts.disabledToast),
    refresh,
    onDone: onChanged,
  });
  const disable = async () => {
    const confirmed = await confirm({
      title: texts.disableQuestion(channel.name),
      children: texts.disableHint,
      action: texts.disable,
      danger: true,
    });
    if (confirmed) enable.mutate(false);
  };
  return (
    <>
      <GuardedButton
        permission="channel:write"
        leftSection={<IconFlask {...icon} />}
        onClick={() => setTesting(true)}
        variant="default"
      >
        {texts.sendTest}
      </GuardedButton>
      <GuardedButton
        permission="channel:write"
        variant="default"
        leftSection={channel.paused ? <IconPlayerPlay {...icon} /> : <IconPlayerPause {...icon} />}
        loading={resuming.isPending}
        onClick={() => (channel.paused ? resuming.mutate() : pause())}
      >
        {channel.paused ? texts.resume : texts.pause}
      </GuardedButton>
      <MoreMenu permission="channel:write" onDelete={() => setDeleting(true)}>
        <GuardedItem
          permission="channel:write"
          icon={<IconPower {...icon} />}
          onClick={() => (channel.enabled ? void disable() : enable.mutate(true))}
        >
          {channel.enabled ? texts.disable : texts.enable}
        </GuardedItem>
      </MoreMenu>
      <TestDrawer scope={scope} channel={channel} opened={testing} onClose={() => setTesting(false)} />
      <Deletion
        opened={deleting}
        onClose={() => setDeleting(false)}
        what={texts.theChannel(channel.slug)}
        run={({ dryRun }) => deleteChannel(scope, channel.slug, dryRun)}
        refresh={channelPaths}
        onDeleted={() => void navigate(to.channels(scope.org, scope.prj))}
      >
        {texts.deletionHint}
      </Deletion>
    </>
  );
}
