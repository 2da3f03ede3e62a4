import { Select, Stack, Text, TextInput } from '@mantine/core';
import { IconAddressBook, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import type { DistributionList } from '../../api-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { compact } from '../../components/counts.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { useDialogParam } from '../../components/use-dialog-param.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg, useProject } from '../../paths.ts';
import { pages, read } from '../../queries.ts';
import { texts } from '../../texts/lists.ts';

export default function Lists() {
  const [project] = useProject();
  const { data: projects, error, refetch } = useProjects();
  const shown = (projects ?? []).filter(({ slug }) => !project || slug === project);
  const [creating, setCreating] = useDialogParam();
  return (
    <Page title={texts.lists} description={texts.description}>
      {error && <Failure error={error} retry={() => void refetch()} />}
      {!projects && !error && <Loading />}
      <Stack>
        {shown.map(({ slug, name }) => (
          <ProjectLists key={slug} prj={slug} name={name} />
        ))}
      </Stack>
      {projects && shown.length === 0 && (
        <Empty icon={<IconAddressBook size={28} stroke={1.4} />} title={texts.noProjectsYet}>
          {texts.noProjectsHint}
        </Empty>
      )}
      {creating && shown.length > 0 && <NewList projects={shown} close={() => setCreating(false)} />}
    </Page>
  );
}

function ProjectLists({ prj, name }: { prj: string; name: string }) {
  const org = useOrg();
  const [creating, setCreating] = useState(false);
  const list = useList(pages('/api/o/{org}/p/{prj}/d/', { path: { org, prj } }));
  const columns: Column<DistributionList>[] = [
    {
      head: texts.name,
      cell: row => (
        <Text component="span" size="sm" fw={500}>
          {row.name}
        </Text>
      ),
    },
    { head: texts.members, align: 'right', width: 110, cell: ({ id }) => <Count prj={prj} pk={id} of="members" /> },
    {
      head: texts.active,
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
      {texts.newList}
    </GuardedButton>
  );
  return (
    <Section title={name} padded={false} aside={create}>
      <DataTable
        label={texts.listsOf(name)}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        rowTo={({ id }) => to.list(org, prj, id)}
        empty={<Empty title={texts.noListsYet}>{texts.noListsHint}</Empty>}
      />
      {creating && <NewList projects={[{ slug: prj, name }]} close={() => setCreating(false)} />}
    </Section>
  );
}

export function useCount(prj: string, pk: number) {
  const org = useOrg();
  return useQuery({
    ...read('/api/o/{org}/p/{prj}/d/{pk}/count/', { path: { org, prj, pk } }),
    staleTime: 10_000,
  });
}

function Count({ prj, pk, of }: { prj: string; pk: number; of: 'members' | 'active' }) {
  const { data } = useCount(prj, pk);
  return <span className="numbers">{data ? compact(data[of]) : '…'}</span>;
}

/** Creates a list in one of the given projects. */
function NewList({ projects, close }: { projects: { slug: string; name: string }[]; close: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [first] = projects;
  const creating = useApiForm({
    initialValues: { prj: first!.slug, name: '' },
    run: async ({ prj, name }) => {
      const path = { org, prj };
      return { prj, created: await take(api.POST('/api/o/{org}/p/{prj}/d/', { params: { path }, body: { name } })) };
    },
    done: ({ created }) => texts.createdTheList(created.name),
    refresh: ['/api/o/{org}/p/{prj}/d/'],
    onDone: ({ prj, created }) => void navigate(to.list(org, prj, created.id)),
  });
  const title = projects.length === 1 ? texts.newListIn(first!.name) : texts.newList;
  return (
    <FormModal of={creating} title={title} submit={texts.createList} close={close}>
      {projects.length > 1 && (
        <Select
          label={texts.project}
          data={projects.map(({ slug, name }) => ({ value: slug, label: name }))}
          allowDeselect={false}
          {...creating.form.getInputProps('prj')}
        />
      )}
      <TextInput
        label={texts.name}
        placeholder={texts.customers}
        withAsterisk
        data-autofocus
        {...creating.form.getInputProps('name')}
      />
    </FormModal>
  );
}
