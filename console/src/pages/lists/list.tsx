import { Menu, TextInput } from '@mantine/core';
import { IconDownload, IconPencil, IconUpload, IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, take } from '../../api.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { count } from '../../components/counts.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { GuardedItem } from '../../components/guarded.tsx';
import { MoreMenu } from '../../components/more-menu.tsx';
import { Page } from '../../components/page.tsx';
import { pendingPage } from '../../components/pending.tsx';
import { to, useOrg } from '../../paths.ts';
import { readTagged } from '../../queries.ts';
import { texts } from '../../texts/lists.ts';
import { AddMembers } from './add-members.tsx';
import { useCount } from './lists.tsx';
import { Members } from './members.tsx';

const icon = { size: 15, stroke: 1.6 };

export function useDistributionList(prj: string, pk: number) {
  const org = useOrg();
  return useQuery({
    ...readTagged('/api/o/{org}/p/{prj}/d/{pk}/', { path: { org, prj, pk } }),
  });
}

export default function ListPage() {
  const org = useOrg();
  const { prj = '', pk: text = '' } = useParams();
  const pk = Number(text);
  const { data, error, refetch } = useDistributionList(prj, pk);
  const { data: counts } = useCount(prj, pk);
  const parents = [{ label: texts.lists, to: to.lists(org, prj) }];
  if (!data) return pendingPage(texts.list, parents, { error, refetch });
  return (
    <Page
      title={data.value.name}
      parents={parents}
      description={counts && texts.memberCounts(counts.members, count(counts.active))}
      actions={<Actions prj={prj} pk={pk} name={data.value.name} etag={data.etag} />}
    >
      <Members prj={prj} pk={pk} />
    </Page>
  );
}

interface ActionsProps {
  prj: string;
  pk: number;
  name: string;
  etag: string | null;
}

function Actions({ prj, pk, name, etag }: ActionsProps) {
  const org = useOrg();
  const navigate = useNavigate();
  const [open, setOpen] = useState<'rename' | 'delete' | 'add'>();
  const close = () => setOpen(undefined);
  const path = { org, prj, pk };
  return (
    <>
      <GuardedButton
        permission="distributionlist:write"
        variant="default"
        leftSection={<IconUserPlus {...icon} />}
        onClick={() => setOpen('add')}
      >
        {texts.addMembers}
      </GuardedButton>
      <GuardedButton
        permission="distributionlist:write"
        variant="default"
        leftSection={<IconUpload {...icon} />}
        onClick={() => navigate(to.importList(org, prj, pk))}
      >
        {texts.importCsv}
      </GuardedButton>
      <MoreMenu permission="distributionlist:write" onDelete={() => setOpen('delete')}>
        <Menu.Item
          component="a"
          href={`/api/o/${encodeURIComponent(org)}/p/${encodeURIComponent(prj)}/d/${pk}/export/`}
          download={`${name}.csv`}
          leftSection={<IconDownload {...icon} />}
        >
          {texts.exportAsCsv}
        </Menu.Item>
        <GuardedItem
          permission="distributionlist:write"
          icon={<IconPencil {...icon} />}
          onClick={() => setOpen('rename')}
        >
          {texts.renameMenuItem}
        </GuardedItem>
      </MoreMenu>
      {open === 'add' && <AddMembers prj={prj} pk={pk} name={name} close={close} />}
      {open === 'rename' && <Rename prj={prj} pk={pk} name={name} etag={etag} close={close} />}
      <Deletion
        opened={open === 'delete'}
        onClose={close}
        what={texts.theList(name)}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/p/{prj}/d/{pk}/', {
              params: { path, query: { cascade: true, ...(dryRun && { dry_run: true }) } },
            }),
          )
        }
        refresh={['/api/o/{org}/p/{prj}/d/']}
        onDeleted={() => void navigate(to.lists(org, prj))}
      >
        {texts.deletionHint}
      </Deletion>
    </>
  );
}

function Rename({ prj, pk, name, etag, close }: ActionsProps & { close: () => void }) {
  const org = useOrg();
  const [tag] = useState(etag);
  const renaming = useApiForm({
    initialValues: { name },
    run: body =>
      take(
        api.PATCH('/api/o/{org}/p/{prj}/d/{pk}/', {
          params: { path: { org, prj, pk } },
          body,
          headers: tag ? { 'if-match': tag } : {},
        }),
      ),
    done: (_, values) => texts.renamedTo(values.name),
    refresh: ['/api/o/{org}/p/{prj}/d/'],
    onDone: close,
  });
  return (
    <FormModal of={renaming} title={texts.renameTitle(name)} submit={texts.rename} reload={close} close={close}>
      <TextInput
        label={texts.name}
        description={texts.renameHint}
        data-autofocus
        {...renaming.form.getInputProps('name')}
      />
    </FormModal>
  );
}
