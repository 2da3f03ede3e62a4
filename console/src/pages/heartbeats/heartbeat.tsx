/** One heartbeat: its state, its last calls, how to call it, and its settings. */
import { Anchor, Grid, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from 'react-router';
import { api, take } from '../../api.ts';
import type { Heartbeat as HeartbeatData } from '../../api-types.ts';
import { AddressActions } from '../../components/address-actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { CopyBlock, CopyText } from '../../components/copy.tsx';
import { Facts } from '../../components/facts.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Pending, pendingPage } from '../../components/pending.tsx';
import { exactTime, TimeAgo } from '../../components/time.tsx';
import { useEditable } from '../../components/use-editable.ts';
import { useEventPaths } from '../../components/use-events.ts';
import { limitsOf } from '../../form-fields.ts';
import { to, useOrg } from '../../paths.ts';
import { read, readTagged } from '../../queries.ts';
import { useCan, useRefusal } from '../../session.tsx';
import { texts } from '../../texts/heartbeats.ts';
import { Calls } from './calls.tsx';
import { HeartbeatState } from './heartbeat-state.tsx';

function useHeartbeatPath() {
  const { prj = '', app = '', heartbeat = '' } = useParams();
  return { org: useOrg(), prj, app, heartbeat };
}

export default function Heartbeat() {
  const path = useHeartbeatPath();
  const { query, filled, refill } = useEditable(
    readTagged('/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/', { path }),
  );
  const { data } = query;
  const parents = [{ label: texts.heartbeats, to: to.heartbeats(path.org) }];
  if (!data) return pendingPage(path.heartbeat, parents, query);
  const { value, etag } = data;
  return (
    <Page
      title={value.name}
      parents={parents}
      description={<CopyText value={path.heartbeat} label={texts.copySlug} />}
      actions={<Actions name={value.name} />}
    >
      <Grid>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="md">
            <Section title={texts.status}>
              <Status />
            </Section>
            <Calls path={path} name={value.name} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Stack gap="md">
            <Section title={texts.address}>
              <Address every={value.every} />
            </Section>
            <Section title={texts.settings}>
              <Form key={`${path.heartbeat} ${filled}`} heartbeat={value} etag={etag} refill={refill} />
            </Section>
          </Stack>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

function Status() {
  const path = useHeartbeatPath();
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/status/', { path }),
    refetchInterval: 5_000,
  });
  if (!data) return <Pending query={{ error, refetch }} />;
  const { state, reason, since, last_ping_at, started_at, expected_at, missing_at, occurrence, error: problem } = data;
  const times: [string, string | null][] = [
    [texts.running, started_at],
    [texts.expected, expected_at],
    [texts.missingAt, missing_at],
  ];
  return (
    <Facts
      facts={[
        [texts.state, <HeartbeatState key="state" state={state} reason={reason} />],
        [texts.since, <TimeAgo key="since" at={since} />],
        [texts.lastCall, last_ping_at ? <TimeAgo key="last" at={last_ping_at} /> : texts.never],
        ...times.flatMap(([name, at]) => (at ? [[name, exactTime(at)] as [string, string]] : [])),
        ...(occurrence
          ? [
              [
                texts.triggered,
                <Anchor key="occurrence" component={Link} to={to.occurrence(path.org, occurrence)} size="sm">
                  {texts.occurrence}
                </Anchor>,
              ] as [string, React.ReactNode],
            ]
          : []),
        ...(problem ? [[texts.problem, problem] as [string, string]] : []),
      ]}
    />
  );
}

function Address({ every }: { every: string }) {
  const path = useHeartbeatPath();
  const mayRead = useCan()('source:write');
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/address/', { path }),
    enabled: mayRead,
  });
  if (!mayRead) return <Text size="sm">{texts.addressHidden}</Text>;
  if (!data) return <Pending query={{ error, refetch }} />;
  const curl = (end = '') => `curl -fsS -m 10 --retry 5 -o /dev/null ${data.url}${end}`;
  const times = every.includes(' ') ? every : '0 3 * * *';
  return (
    <Stack gap="sm">
      <CopyBlock value={data.url} label={texts.copyUrl} />
      <Text size="sm">{texts.addressHint}</Text>
      <CopyBlock value={curl()} label={texts.copyCurl} />
      <Text size="sm">{texts.cronHint}</Text>
      <CopyBlock value={`${times} /path/to/job; ${curl('/$?')}`} label={texts.copyCron} />
      <Text size="sm">{texts.startHint}</Text>
      <CopyBlock value={curl('/start')} label={texts.copyStart} />
    </Stack>
  );
}

interface FormProps {
  heartbeat: HeartbeatData;
  etag: string | null;
  refill: () => Promise<void>;
}

function Form({ heartbeat, etag, refill }: FormProps) {
  const path = useHeartbeatPath();
  const refusal = useRefusal()('source:write');
  const disabled = refusal !== undefined;
  const { name, every, timezone, grace, event, enabled } = heartbeat;
  const editing = useApiForm({
    initialValues: { name, every, timezone, grace, event, enabled },
    draft: { key: `${path.org}/heartbeats/${path.prj}/${path.app}/${path.heartbeat}`, etag },
    run: (values, headers) =>
      take(
        api.PATCH('/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/', { params: { path }, body: values, headers }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/heartbeats/', '/api/o/{org}/p/{prj}/a/{app}/heartbeats/'],
    onDone: refill,
  });
  const { form } = editing;
  const events = useEventPaths(`${path.prj}/${path.app}/`);
  return (
    <ApiForm of={editing} isLong submit={texts.save} permission="source:write" reload={refill}>
      <TextInput
        label={texts.name}
        {...limitsOf('NewHeartbeat', 'name')}
        {...form.getInputProps('name')}
        disabled={disabled}
      />
      <TextInput
        label={texts.every}
        description={texts.everyHint}
        {...limitsOf('NewHeartbeat', 'every')}
        {...form.getInputProps('every')}
        disabled={disabled}
      />
      <TextInput
        label={texts.timezone}
        description={texts.timezoneHint}
        {...limitsOf('NewHeartbeat', 'timezone')}
        {...form.getInputProps('timezone')}
        disabled={disabled}
      />
      <TextInput
        label={texts.grace}
        description={texts.graceHint}
        {...limitsOf('NewHeartbeat', 'grace')}
        {...form.getInputProps('grace')}
        disabled={disabled}
      />
      <Select
        label={texts.event}
        description={texts.eventHint}
        data={[...new Set([event, ...events])]}
        allowDeselect={false}
        searchable
        {...form.getInputProps('event')}
        disabled={disabled}
      />
      <Switch
        label={texts.enabled}
        description={texts.enabledHint}
        {...form.getInputProps('enabled', { type: 'checkbox' })}
        disabled={disabled}
      />
    </ApiForm>
  );
}

function Actions({ name }: { name: string }) {
  const path = useHeartbeatPath();
  const navigate = useNavigate();
  return (
    <AddressActions
      name={name}
      what={texts.theHeartbeat(name)}
      rotate={() => take(api.POST('/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/rotate/', { params: { path } }))}
      rotateHint={texts.rotateHint}
      remove={({ dryRun }) =>
        take(
          api.DELETE('/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/', {
            params: { path, query: dryRun ? { dry_run: true } : {} },
          }),
        )
      }
      deletionHint={texts.deletionHint}
      refresh={{ own: '/api/o/{org}/p/{prj}/a/{app}/heartbeats/', lists: '/api/o/{org}/heartbeats/' }}
      onDeleted={() => void navigate(to.heartbeats(path.org))}
    />
  );
}
