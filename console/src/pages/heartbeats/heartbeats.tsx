/** Heartbeats of all applications of the organization. */
import { SimpleGrid, TextInput } from '@mantine/core';
import { IconHeartbeat } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import type { OrganizationHeartbeat } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EventSelect } from '../../components/event-select.tsx';
import { NameFields } from '../../components/name-fields.tsx';
import { NameWithAddress } from '../../components/name-with-address.tsx';
import { slugFrom } from '../../components/slug.ts';
import { TablePage } from '../../components/table-page.tsx';
import { TimeAgo } from '../../components/time.tsx';
import { useEventPaths } from '../../components/use-events.ts';
import { useList } from '../../components/use-list.ts';
import { limitsOf } from '../../form-fields.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/heartbeats.ts';
import { HeartbeatState } from './heartbeat-state.tsx';

const columns: Column<OrganizationHeartbeat>[] = [
  {
    head: texts.heartbeat,
    cell: ({ name, project, application, slug }) => (
      <NameWithAddress name={name} address={`${project}/${application}/${slug}`} />
    ),
  },
  { head: texts.every, from: 'sm', width: 140, cell: ({ every }) => <span className="mono">{every}</span> },
  {
    head: texts.lastCall,
    from: 'xs',
    width: 140,
    cell: ({ last_ping_at }) => (last_ping_at ? <TimeAgo at={last_ping_at} /> : texts.never),
  },
  {
    head: texts.state,
    width: 190,
    align: 'right',
    cell: ({ state, reason }) => <HeartbeatState state={state} reason={reason} />,
  },
];

export default function Heartbeats() {
  const org = useOrg();
  const list = useList(pages('/api/o/{org}/heartbeats/', { path: { org } }), { live: true });
  return (
    <TablePage
      title={texts.heartbeats}
      description={texts.description}
      create={{
        permission: 'source:write',
        label: texts.newHeartbeat,
        dialog: close => <NewHeartbeat close={close} />,
      }}
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      rowTo={({ project, application, slug }) => to.heartbeat(org, project, application, slug)}
      empty={{ icon: IconHeartbeat, title: texts.noHeartbeatsYet, hint: texts.noHeartbeatsHint }}
    />
  );
}

function NewHeartbeat({ close }: { close: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const paths = useEventPaths();
  const creating = useApiForm({
    initialValues: { name: '', slug: '', every: '1d', grace: '1h', timezone: 'UTC', event: '' },
    run: async ({ slug, event: path, ...fields }) => {
      const [prj = '', app = '', event = ''] = path.split('/');
      const body = { ...fields, slug: slug || slugFrom(fields.name), event };
      const params = { path: { org, prj, app } };
      const created = await take(api.POST('/api/o/{org}/p/{prj}/a/{app}/heartbeats/', { params, body }));
      return { ...created, prj, app };
    },
    done: ({ name }) => texts.created(name),
    refresh: ['/api/o/{org}/heartbeats/'],
    onDone: ({ prj, app, slug }) => void navigate(to.heartbeat(org, prj, app, slug)),
  });
  const { form } = creating;
  const { name, event } = form.values;
  return (
    <FormModal
      of={creating}
      title={texts.newHeartbeat}
      submit={texts.createHeartbeat}
      size="lg"
      isDisabled={name.trim() === '' || event === ''}
      close={close}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NameFields form={form} body="NewHeartbeat" texts={texts} data-autofocus />
      </SimpleGrid>
      <TextInput
        label={texts.every}
        description={texts.everyHint}
        {...limitsOf('NewHeartbeat', 'every')}
        {...form.getInputProps('every')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          label={texts.timezone}
          description={texts.timezoneHint}
          {...limitsOf('NewHeartbeat', 'timezone')}
          {...form.getInputProps('timezone')}
        />
        <TextInput
          label={texts.grace}
          description={texts.graceHint}
          {...limitsOf('NewHeartbeat', 'grace')}
          {...form.getInputProps('grace')}
        />
      </SimpleGrid>
      <EventSelect form={form} texts={texts} paths={paths} />
    </FormModal>
  );
}
