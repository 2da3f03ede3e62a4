import { Button, Modal, Stack, Text, TextInput } from '@mantine/core';
import { IconAddressBook, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import type { DistributionList } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { compact } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../../components/form.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty, Failure, Waiting } from '../../components/states.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { useList } from '../../components/use-list.ts';
import { to, useOrg, useProject } from '../../places.ts';
import { listKey, listsKey } from './list-key.ts';

export default function Lists() {
  const [project] = useProject();
  const { data: projects, error, refetch } = useProjects();
  const shown = (projects ?? []).filter(({ slug }) => !project || slug === project);
  return (
    <Page
      title="Lists"
      description="Distribution lists of a project: a notification that names one goes to all of its active members."
    >
      {error && <Failure error={error} retry={() => void refetch()} />}
      {!projects && !error && <Waiting />}
      <Stack>
        {shown.map(({ slug, name }) => (
          <ProjectLists key={slug} prj={slug} name={name} />
        ))}
      </Stack>
      {projects && shown.length === 0 && (
        <Empty icon={<IconAddressBook size={28} stroke={1.4} />} title="No project yet">
          Lists belong to a project. Create one first.
        </Empty>
      )}
    </Page>
  );
}

function ProjectLists({ prj, name }: { prj: string; name: string }) {
  const org = useOrg();
  const [creating, setCreating] = useState(false);
  const list = useList<DistributionList>({
    key: listsKey(org, prj),
    fetch: (query, signal) => api.GET('/api/o/{org}/p/{prj}/d/', { params: { path: { org, prj }, query }, signal }),
  });
  const columns: Column<DistributionList>[] = [
    {
      head: 'Name',
      cell: row => (
        <Text component="span" size="sm" fw={500}>
          {row.name}
        </Text>
      ),
    },
    { head: 'Members', align: 'right', width: 110, cell: ({ id }) => <Count prj={prj} pk={id} of="members" /> },
    {
      head: 'Active',
      align: 'right',
      width: 110,
      cell: ({ id }) => <Count prj={prj} pk={id} of="active" />,
      from: 'xs',
    },
  ];
  const create = (
    <GuardedButton
      permission="distributionlist:write"
      variant="default"
      leftSection={<IconPlus size={14} />}
      onClick={() => setCreating(true)}
    >
      New list
    </GuardedButton>
  );
  return (
    <Section title={name} padded={false} aside={create}>
      <DataTable
        label={`Lists of ${name}`}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        rowTo={({ id }) => to.list(org, prj, id)}
        empty={
          <Empty title="No list yet">
            Create one, then paste email addresses into it or import a CSV file. Who is unknown becomes a person.
          </Empty>
        }
      />
      <Modal
        opened={creating}
        onClose={() => setCreating(false)}
        title={
          <Text component="span" fw={600}>
            New list of {name}
          </Text>
        }
      >
        <NewList prj={prj} onClose={() => setCreating(false)} />
      </Modal>
    </Section>
  );
}

export function useCount(prj: string, pk: number) {
  const org = useOrg();
  return useQuery({
    queryKey: [...listKey(org, prj, pk), 'count'],
    queryFn: ({ signal }) =>
      take(api.GET('/api/o/{org}/p/{prj}/d/{pk}/count/', { params: { path: { org, prj, pk } }, signal })),
    staleTime: 10_000,
  });
}

function Count({ prj, pk, of }: { prj: string; pk: number; of: 'members' | 'active' }) {
  const { data } = useCount(prj, pk);
  return <span className="numbers">{data ? compact(data[of]) : '…'}</span>;
}

function NewList({ prj, onClose }: { prj: string; onClose: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const create = useAction({
    run: () => take(api.POST('/api/o/{org}/p/{prj}/d/', { params: { path: { org, prj } }, body: { name } })),
    done: made => `Created the list ${made.name}.`,
    refresh: [listsKey(org, prj)],
    onDone: ({ id }) => void navigate(to.list(org, prj, id)),
    quiet: true,
  });
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        create.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          withAsterisk
          value={name}
          error={fieldErrors(create.error).name}
          onChange={event => setName(event.currentTarget.value)}
          data-autofocus
        />
        <FormFailure error={create.error} shown={['name']} />
        <FormButtons>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}
