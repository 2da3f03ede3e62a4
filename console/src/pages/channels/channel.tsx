import { Alert, Fieldset, Grid } from '@mantine/core';
import { IconFlask, IconPlayerPause, IconPlayerPlay, IconPower } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import type { ChannelDetails } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { confirm } from '../../components/confirm.tsx';
import { CopyText } from '../../components/copy.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { Facts } from '../../components/facts.tsx';
import { GuardedItem } from '../../components/guarded.tsx';
import { MoreMenu } from '../../components/more-menu.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Failure, Waiting } from '../../components/states.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { lookOfMedium } from '../../media.ts';
import { PauseBanners } from '../../pauses/pause-banner.tsx';
import { usePauses } from '../../pauses/use-pauses.ts';
import { to, useOrg } from '../../places.ts';
import { useRefusal } from '../../session.tsx';
import { texts } from '../../texts/channels.ts';
import {
  type ChannelPlace,
  changeChannel,
  channelKey,
  deleteChannel,
  holdChannel,
  useChannel,
  useProviderKinds,
} from './channel-api.ts';
import { ChannelFields, draftOfChannel, providersOf } from './channel-form.tsx';
import { ChannelHealth, ChannelState } from './channel-state.tsx';
import { TestDrawer } from './test-drawer.tsx';

const icon = { size: 15, stroke: 1.6 };

export default function ChannelPage() {
  const org = useOrg();
  const { prj, channel: slug = '' } = useParams();
  const place: ChannelPlace = { org, prj };
  const { data, error, refetch } = useChannel(place, slug);
  const pauses = usePauses({ enabled: data?.value.paused ?? false }).filter(
    pause => pause.kind === 'channel' && pause.path === (prj ? `${prj}/${slug}` : slug),
  );
  const queries = useQueryClient();
  // What the form was filled with: it stays while somebody types, whatever the page reads meanwhile.
  const [filled, setFilled] = useState({ count: 0, etag: undefined as string | null | undefined });
  const current = () => queries.getQueryData<{ etag: string | null }>(channelKey(place, slug))?.etag;
  const refill = () => setFilled(({ count }) => ({ count: count + 1, etag: current() }));
  const retag = () => setFilled(({ count }) => ({ count, etag: current() }));
  const parents = [{ label: texts.channels, to: to.channels(org, prj) }];
  if (!data) {
    return (
      <Page title={slug} parents={parents}>
        {error ? <Failure error={error} retry={() => void refetch()} /> : <Waiting />}
      </Page>
    );
  }
  const channel = data.value;
  return (
    <Page
      title={channel.name}
      parents={parents}
      aside={<ChannelState channel={channel} />}
      actions={<Actions place={place} channel={channel} onChanged={retag} />}
    >
      <PauseBanners pauses={pauses} onResumed={retag} />
      {channel.problem && (
        <Alert color="red" title={texts.thisChannelCannotSend} mb="md">
          {channel.problem}
        </Alert>
      )}
      <Grid>
        <Grid.Col span={{ base: 12, md: 8 }}>
          <Section title={texts.settings}>
            <Form
              key={`${channel.slug} ${filled.count}`}
              place={place}
              channel={channel}
              etag={filled.etag ?? data.etag}
              refill={refill}
            />
          </Section>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Section title={texts.about}>
            <Facts
              facts={[
                [texts.type, lookOfMedium(channel.type).name],
                [texts.slug, <CopyText key="slug" value={channel.slug} label={texts.copyTheSlug} />],
                [texts.belongsTo, channel.project ? texts.project(channel.project) : texts.organization],
                [texts.lastHours(channel.health.hours), <ChannelHealth key="health" health={channel.health} />],
                [texts.created, <TimeAgo key="created" at={channel.created_at} />],
                [texts.changed, <TimeAgo key="changed" at={channel.updated_at} />],
              ]}
            />
          </Section>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

interface FormProps {
  place: ChannelPlace;
  channel: ChannelDetails;
  etag: string | null;
  refill: () => void;
}

function Form({ place, channel, etag, refill }: FormProps) {
  const kinds = useProviderKinds();
  const queries = useQueryClient();
  const refusal = useRefusal()('channel:write');
  const editing = useApiForm({
    initialValues: draftOfChannel(channel),
    run: ({ name, on_unknown, rate_per_second, concurrency, providers }) =>
      changeChannel(
        place,
        channel.slug,
        { name, on_unknown, rate_per_second, concurrency, providers: providersOf(providers) },
        etag,
      ),
    done: texts.savedAppliesFromTheNextMessage,
    refresh: [channelKey(place)],
    onDone: refill,
  });
  if (!kinds.data) return kinds.error ? <Failure error={kinds.error} /> : <Waiting />;
  return (
    <ApiForm
      of={editing}
      submit={texts.save}
      permission="channel:write"
      reload={() => void queries.refetchQueries({ queryKey: channelKey(place, channel.slug) }).then(refill)}
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
  place: ChannelPlace;
  channel: ChannelDetails;
  onChanged: () => void;
}

function Actions({ place, channel, onChanged }: ActionsProps) {
  const navigate = useNavigate();
  const [params, setParams] = useSearchParams();
  const [deleting, setDeleting] = useState(false);
  const testing = params.has('test');
  const setTesting = (open: boolean) => setParams(open ? { test: '' } : {}, { replace: true });
  const refresh = [channelKey(place), [place.org, 'pauses']];
  const hold = useAction({
    run: (paused: boolean) => holdChannel(place, channel.slug, paused),
    done: (_, paused) => (paused ? texts.pausedMessagesAreKeptUntilYou : texts.resumedWaitingMessagesAreBeingSent),
    refresh,
    onDone: onChanged,
  });
  const enable = useAction({
    run: (enabled: boolean) => changeChannel(place, channel.slug, { enabled }),
    done: (_, enabled) => (enabled ? texts.enabled2 : texts.disabledNothingIsSentThroughThis),
    refresh,
    onDone: onChanged,
  });
  const disable = async () => {
    const sure = await confirm({
      title: texts.disable(channel.name),
      children: texts.itsMessagesAreSuppressedNotKept,
      action: texts.disable2,
      danger: true,
    });
    if (sure) enable.mutate(false);
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
        loading={hold.isPending}
        onClick={() => hold.mutate(!channel.paused)}
      >
        {channel.paused ? texts.resume : texts.pause}
      </GuardedButton>
      <MoreMenu permission="channel:write" onDelete={() => setDeleting(true)}>
        <GuardedItem
          permission="channel:write"
          icon={<IconPower {...icon} />}
          onClick={() => (channel.enabled ? void disable() : enable.mutate(true))}
        >
          {channel.enabled ? texts.disable2 : texts.enable}
        </GuardedItem>
      </MoreMenu>
      <TestDrawer place={place} channel={channel} opened={testing} onClose={() => setTesting(false)} />
      <Deletion
        opened={deleting}
        onClose={() => setDeleting(false)}
        what={texts.theChannel(channel.slug)}
        run={({ dryRun }) => deleteChannel(place, channel.slug, dryRun)}
        refresh={[channelKey(place)]}
        onDeleted={() => void navigate(to.channels(place.org, place.prj))}
      >
        {texts.sentMessagesStayInTheHistory}
      </Deletion>
    </>
  );
}
