/** Schedules of all projects, with who is on call. */
import { Button, Select, SimpleGrid, Text } from '@mantine/core';
import { IconCalendarUser } from '@tabler/icons-react';
import { Link, useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import { type OnCall, timezones } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import type { Column } from '../../components/data-table.tsx';
import { NameFields } from '../../components/name-fields.tsx';
import { NameWithAddress } from '../../components/name-with-address.tsx';
import { slugFrom } from '../../components/slug.ts';
import { TablePage } from '../../components/table-page.tsx';
import { clockAndDay } from '../../components/time.tsx';
import { useEvents } from '../../components/use-events.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/schedules.ts';
import { readLayer } from './layer-text.ts';
import { Layers, newLayer } from './layers.tsx';
import { namesOf } from './people.ts';

const columns: Column<OnCall>[] = [
  {
    head: texts.schedule,
    cell: ({ name, project, schedule }) => <NameWithAddress name={name} address={`${project}/${schedule}`} />,
  },
  {
    head: texts.onCall,
    cell: ({ users, until }) => (
      <>
        <Text
          component="span"
          size="sm"
          fw={500}
          display="block"
          c={users.length === 0 ? 'var(--mantine-color-error)' : undefined}
          style={{ overflowWrap: 'anywhere' }}
        >
          {namesOf(users)}
        </Text>
        {until && (
          <Text component="span" size="xs" c="dimmed">
            {texts.until} {clockAndDay(String(until))}
          </Text>
        )}
      </>
    ),
  },
  {
    head: texts.next,
    from: 'sm',
    cell: ({ next }) =>
      next && (
        <>
          <Text component="span" size="sm" display="block" style={{ overflowWrap: 'anywhere' }}>
            {namesOf(next.users)}
          </Text>
          <Text component="span" size="xs" c="dimmed">
            {texts.from} {clockAndDay(String(next.from))}
          </Text>
        </>
      ),
  },
];

export default function Schedules() {
  const org = useOrg();
  const list = useList(pages('/api/o/{org}/on-call/', { path: { org } }), { live: true });
  return (
    <TablePage
      title={texts.schedules}
      description={texts.description}
      create={{
        permission: 'schedule:write',
        label: texts.newSchedule,
        dialog: close => <NewSchedule close={close} />,
      }}
      actions={
        <Button component={Link} to={to.onCallReport(org)} variant="default">
          {texts.report}
        </Button>
      }
      list={list}
      columns={columns}
      rowKey={({ id }) => id}
      rowTo={({ project, schedule }) => to.schedule(org, project, schedule)}
      empty={{ icon: IconCalendarUser, title: texts.noSchedulesYet, hint: texts.noSchedulesHint }}
    />
  );
}

function NewSchedule({ close }: { close: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const { data } = useEvents();
  const projects = (data?.projects ?? []).map(({ slug }) => slug);
  const creating = useApiForm({
    initialValues: {
      name: '',
      slug: '',
      prj: '',
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      layers: [newLayer(1)],
    },
    validate: ({ layers }): Record<string, string> => {
      const { wrong } = readLayer(layers[0]!);
      return wrong === undefined ? {} : { 'layers/0/only': texts.noWindow(wrong) };
    },
    run: async ({ name, slug, prj, timezone, layers }) => {
      const body = { name, slug: slug || slugFrom(name), timezone, layers: layers.map(one => readLayer(one).layer) };
      const params = { path: { org, prj: prj || (projects[0] ?? '') } };
      return { ...(await take(api.POST('/api/o/{org}/p/{prj}/schedules/', { params, body }))), prj: params.path.prj };
    },
    done: ({ name }) => texts.created(name),
    refresh: ['/api/o/{org}/on-call/', '/api/o/{org}/p/{prj}/schedules/'],
    onDone: ({ prj, slug }) => void navigate(to.schedule(org, prj, slug)),
  });
  const { form } = creating;
  const { name, prj, layers } = form.values;
  return (
    <FormModal
      of={creating}
      title={texts.newSchedule}
      submit={texts.createSchedule}
      size="lg"
      isDisabled={name.trim() === ''}
      close={close}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NameFields form={form} body="NewSchedule" texts={texts} data-autofocus />
        <Select
          label={texts.project}
          placeholder={texts.chooseProject}
          data={projects}
          allowDeselect={false}
          {...form.getInputProps('prj')}
          value={prj || (projects[0] ?? null)}
        />
        <Select
          label={texts.timezone}
          data={timezones}
          searchable
          limit={100}
          allowDeselect={false}
          {...form.getInputProps('timezone')}
        />
      </SimpleGrid>
      <Layers layers={layers} change={next => form.setFieldValue('layers', next)} errors={form.errors} />
    </FormModal>
  );
}
