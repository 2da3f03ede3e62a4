/** Watches of all applications, with the state of their rehearsals. */
import { Checkbox, Group, Modal, SimpleGrid, Switch, Text, TextInput } from '@mantine/core';
import { IconEyeCheck, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take, takeTagged } from '../../api.ts';
import type { ServiceLevels, Watch as StoredWatch } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { EventSelect } from '../../components/event-select.tsx';
import { Mark } from '../../components/mark.tsx';
import { NameWithAddress } from '../../components/name-with-address.tsx';
import { Section } from '../../components/page.tsx';
import { Pending } from '../../components/pending.tsx';
import { Empty } from '../../components/states.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useDialogParam } from '../../components/use-dialog-param.ts';
import { useEventPaths } from '../../components/use-events.ts';
import { limitsOf } from '../../form-fields.ts';
import { useOrg } from '../../paths.ts';
import { loadOnce } from '../../queries.ts';
import { texts } from '../../texts/service-levels.ts';

type Watch = ServiceLevels['watches'][number];

interface WatchPath {
  org: string;
  prj: string;
  app: string;
  watch: string;
}

const colors: Record<string, string> = { ok: 'teal', failing: 'red', silent: 'red' };
const all = '/api/o/{org}/p/{prj}/a/{app}/watches/' as const;
const refresh = ['/api/o/{org}/service-levels/', all] as const;
const keyOf = ({ project, application, slug }: Watch) => `${project}/${application}/${slug}`;

export function Watches({ watches }: { watches: Watch[] | undefined }) {
  const org = useOrg();
  const [creating, setCreating] = useDialogParam();
  const [editing, setEditing] = useState<Watch>();
  const [deleting, setDeleting] = useState<Watch>();
  const create = (
    <GuardedButton
      permission="source:write"
      size="xs"
      leftSection={<IconPlus size={14} />}
      onClick={() => setCreating(true)}
    >
      {texts.newWatch}
    </GuardedButton>
  );
  const columns: Column<Watch>[] = [
    {
      head: texts.watch,
      cell: watch => (
        <>
          <NameWithAddress name={watch.slug} address={`${watch.project}/${watch.application}/${watch.event}`} />
          {watch.error && (
            <Text size="xs" c="var(--mantine-color-error)">
              {watch.error}
            </Text>
          )}
        </>
      ),
    },
    { head: texts.every, from: 'sm', width: 90, cell: ({ every }) => <span className="mono">{every}</span> },
    {
      head: texts.delivered,
      from: 'xs',
      width: 140,
      cell: ({ delivered_at }) => (delivered_at ? <TimeAgo at={delivered_at} /> : texts.never),
    },
    {
      head: texts.state,
      width: 110,
      align: 'right',
      cell: ({ state }) => (
        <Mark color={colors[state] ?? 'gray'} meaning={texts.stateMeanings[state]!}>
          {texts.states[state] ?? state}
        </Mark>
      ),
    },
    {
      head: texts.actions,
      hidesHeader: true,
      width: 96,
      align: 'right',
      cell: watch => (
        <Group gap={4} justify="flex-end" wrap="nowrap">
          <GuardedButton
            permission="source:write"
            variant="subtle"
            size="compact-xs"
            aria-label={texts.editWatch(watch.slug)}
            onClick={() => setEditing(watch)}
          >
            <IconPencil size={14} />
          </GuardedButton>
          <GuardedButton
            permission="source:write"
            variant="subtle"
            color="red"
            size="compact-xs"
            aria-label={texts.deleteWatch(watch.slug)}
            onClick={() => setDeleting(watch)}
          >
            <IconTrash size={14} />
          </GuardedButton>
        </Group>
      ),
    },
  ];
  return (
    <Section title={texts.watches} aside={create} padded={false}>
      <Text size="sm" c="dimmed" px="md" pb="sm">
        {texts.watchesHint}
      </Text>
      <DataTable
        label={texts.watches}
        list={{ rows: watches ?? [], loading: !watches, error: null, retry: () => {} }}
        columns={columns}
        rowKey={keyOf}
        empty={
          <Empty icon={<IconEyeCheck size={28} stroke={1.4} />} title={texts.noWatches}>
            {texts.noWatchesHint}
          </Empty>
        }
      />
      {creating && <WatchForm close={() => setCreating(false)} />}
      {editing && <EditWatch of={editing} close={() => setEditing(undefined)} />}
      {deleting && (
        <Deletion
          opened
          onClose={() => setDeleting(undefined)}
          what={texts.theWatch(deleting.slug)}
          run={({ dryRun }) => {
            const { project: prj, application: app, slug: watch } = deleting;
            const params = { path: { org, prj, app, watch }, query: { dry_run: dryRun } };
            return take(api.DELETE(`${all}{watch}/`, { params }));
          }}
          refresh={[...refresh]}
          onDeleted={() => setDeleting(undefined)}
        >
          {texts.deleted}
        </Deletion>
      )}
    </Section>
  );
}

function EditWatch({ of: { project: prj, application: app, slug, pings }, close }: { of: Watch; close: () => void }) {
  const path = { org: useOrg(), prj, app, watch: slug };
  const { data, error, refetch } = useQuery(
    loadOnce([all, path], signal => takeTagged(api.GET(`${all}{watch}/`, { params: { path }, signal }))),
  );
  if (data) return <WatchForm stored={{ ...data, path, pings }} close={close} />;
  return (
    <Modal opened onClose={close} title={texts.editTitle(slug)}>
      <Pending query={{ error, refetch }} />
    </Modal>
  );
}

interface FormProps {
  /** Absent: a new one is created. */
  stored?: { value: StoredWatch; etag: string | null; path: WatchPath; pings: boolean };
  close: () => void;
}

function WatchForm({ stored, close }: FormProps) {
  const org = useOrg();
  // The values that the form began with, even if they are loaded again.
  const [etag] = useState(stored?.etag);
  const saving = useApiForm({
    initialValues: {
      ...{ slug: texts.slugExample, every: '1m', event: '', enabled: true },
      ...stored?.value,
      ...{ url: '', callsNone: false },
    },
    run: ({ slug, url, callsNone, enabled, ...fields }) => {
      if (stored) {
        const headers = etag ? { 'if-match': etag } : {};
        const body = { ...fields, enabled, ...((url || callsNone) && { url: callsNone ? '' : url }) };
        return take(api.PATCH(`${all}{watch}/`, { params: { path: stored.path }, headers, body }));
      }
      const [prj = '', app = '', event = ''] = fields.event.split('/');
      return take(api.POST(all, { params: { path: { org, prj, app } }, body: { ...fields, slug, url, event } }));
    },
    done: ({ slug }) => (stored ? texts.saved(slug) : texts.created(slug)),
    refresh: [...refresh],
    onDone: close,
  });
  const { form } = saving;
  const { slug, event, callsNone } = form.values;
  const events = useEventPaths(stored && `${stored.path.prj}/${stored.path.app}/`);
  return (
    <FormModal
      of={saving}
      title={stored ? texts.editTitle(slug) : texts.newWatch}
      submit={stored ? texts.save : texts.createWatch}
      isDisabled={slug.trim() === '' || event === ''}
      reload={stored && close}
      close={close}
    >
      <EventSelect
        form={form}
        texts={texts}
        paths={[...new Set([...(stored ? [stored.value.event] : []), ...events])]}
      />
      <TextInput
        label={texts.url}
        description={stored?.pings ? texts.urlKept : texts.urlHint}
        placeholder={texts.urlExample}
        autoComplete="off"
        disabled={callsNone}
        {...limitsOf('NewWatch', 'url')}
        {...form.getInputProps('url')}
      />
      {stored?.pings && <Checkbox label={texts.callsNone} {...form.getInputProps('callsNone', { type: 'checkbox' })} />}
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {!stored && (
          <TextInput
            label={texts.slug}
            description={texts.slugHint}
            classNames={{ input: 'mono' }}
            {...limitsOf('NewWatch', 'slug')}
            {...form.getInputProps('slug')}
          />
        )}
        <TextInput
          label={texts.every}
          description={texts.everyHint}
          {...limitsOf('NewWatch', 'every')}
          {...form.getInputProps('every')}
        />
      </SimpleGrid>
      {stored && (
        <Switch
          label={texts.enabled}
          description={texts.enabledHint}
          {...form.getInputProps('enabled', { type: 'checkbox' })}
        />
      )}
    </FormModal>
  );
}
