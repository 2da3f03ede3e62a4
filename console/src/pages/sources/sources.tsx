/** Sources of all applications of the organization. */
import { Select, SimpleGrid, TextInput } from '@mantine/core';
import { IconAntenna } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import { type OrganizationSource, sourcePresets } from '../../api-types.ts';
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
import { texts } from '../../texts/sources.ts';
import { formats, PayloadState } from './source-format.tsx';

const columns: Column<OrganizationSource>[] = [
  {
    head: texts.source,
    cell: ({ name, project, application, slug }) => (
      <NameWithAddress name={name} address={`${project}/${application}/${slug}`} />
    ),
  },
  { head: texts.format, from: 'sm', width: '25%', cell: ({ use }) => (use ? sourcePresets[use] : texts.ownMapping) },
  {
    head: texts.lastReceived,
    from: 'xs',
    width: 160,
    cell: ({ last_received_at }) => (last_received_at ? <TimeAgo at={last_received_at} /> : texts.never),
  },
  {
    head: texts.status,
    width: 140,
    align: 'right',
    cell: ({ last_state }) => last_state && <PayloadState state={last_state} />,
  },
];

export default function Sources() {
  const org = useOrg();
  const list = useList(pages('/api/o/{org}/sources/', { path: { org } }), { live: true });
  return (
    <TablePage
      title={texts.sources}
      description={texts.description}
      create={{
        permission: 'source:write',
        label: texts.newSource,
        dialog: close => <NewSource close={close} />,
      }}
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      rowTo={({ project, application, slug }) => to.source(org, project, application, slug)}
      empty={{ icon: IconAntenna, title: texts.noSourcesYet, hint: texts.noSourcesHint }}
    />
  );
}

function NewSource({ close }: { close: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const paths = useEventPaths();
  const creating = useApiForm({
    initialValues: { name: '', slug: '', use: 'alertmanager', key: '', event: '' },
    run: async ({ name, slug, use, key, event: path }) => {
      const [prj = '', app = '', event = ''] = path.split('/');
      const format = use === '' ? { mapping: { key } } : { use: use as never };
      const body = { slug: slug || slugFrom(name), name, routes: [{ event }], ...format };
      const params = { path: { org, prj, app } };
      const created = await take(api.POST('/api/o/{org}/p/{prj}/a/{app}/sources/', { params, body }));
      return { ...created, prj, app };
    },
    done: ({ name }) => texts.created(name),
    refresh: ['/api/o/{org}/sources/'],
    onDone: ({ prj, app, slug }) => void navigate(to.source(org, prj, app, slug)),
  });
  const { form } = creating;
  const { name, use, key, event } = form.values;
  return (
    <FormModal
      of={creating}
      title={texts.newSource}
      submit={texts.createSource}
      size="lg"
      isDisabled={name.trim() === '' || event === '' || (use === '' && key.trim() === '')}
      close={close}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NameFields form={form} body="NewSource" texts={texts} data-autofocus />
      </SimpleGrid>
      <Select
        label={texts.format}
        description={texts.formatHint}
        data={formats}
        allowDeselect={false}
        {...form.getInputProps('use')}
      />
      {use === '' && (
        <TextInput
          label={texts.key}
          description={texts.keyHint}
          placeholder={texts.keyExample}
          classNames={{ input: 'mono' }}
          {...limitsOf('NewSource', 'mapping.key')}
          {...form.getInputProps('key')}
        />
      )}
      <EventSelect form={form} texts={texts} paths={paths} />
    </FormModal>
  );
}
