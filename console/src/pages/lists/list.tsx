import { ActionIcon, Button, Menu, Modal, Stack, Text, TextInput } from '@mantine/core';
import { IconDots, IconDownload, IconPencil, IconTrash, IconUpload, IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, take, takeTagged } from '../../api.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { count } from '../../components/counts.tsx';
import { Deletion } from '../../components/deletion.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../../components/form.tsx';
import { GuardedItem } from '../../components/guarded.tsx';
import { Page } from '../../components/page.tsx';
import { Failure, Waiting } from '../../components/states.tsx';
import { to, useOrg } from '../../places.ts';
import { AddMembers } from './add-members.tsx';
import { listKey, listsKey } from './list-key.ts';
import { useCount } from './lists.tsx';
import { Members } from './members.tsx';

const icon = { size: 15, stroke: 1.6 };

export function useDistributionList(prj: string, pk: number) {
  const org = useOrg();
  return useQuery({
    queryKey: [...listKey(org, prj, pk), 'itself'],
    queryFn: ({ signal }) =>
      takeTagged(api.GET('/api/o/{org}/p/{prj}/d/{pk}/', { params: { path: { org, prj, pk } }, signal })),
  });
}

export default function ListPage() {
  const org = useOrg();
  const { prj = '', pk: text = '' } = useParams();
  const pk = Number(text);
  const { data, error, refetch } = useDistributionList(prj, pk);
  const { data: counts } = useCount(prj, pk);
  const parents = [{ label: 'Lists', to: to.lists(org, prj) }];
  if (!data) {
    return (
      <Page title="List" parents={parents}>
        {error ? <Failure error={error} retry={() => void refetch()} /> : <Waiting />}
      </Page>
    );
  }
  return (
    <Page
      title={data.value.name}
      parents={parents}
      description={counts && `${count(counts.members)} members, ${count(counts.active)} of them active`}
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
        Add members
      </GuardedButton>
      <GuardedButton
        permission="distributionlist:write"
        variant="default"
        leftSection={<IconUpload {...icon} />}
        onClick={() => navigate(to.importList(org, prj, pk))}
      >
        Import CSV
      </GuardedButton>
      <Menu position="bottom-end" shadow="md" keepMounted={false}>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="More">
            <IconDots {...icon} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            component="a"
            href={`/api/o/${encodeURIComponent(org)}/p/${encodeURIComponent(prj)}/d/${pk}/export/`}
            download={`${name}.csv`}
            leftSection={<IconDownload {...icon} />}
          >
            Export as CSV
          </Menu.Item>
          <GuardedItem
            permission="distributionlist:write"
            icon={<IconPencil {...icon} />}
            onClick={() => setOpen('rename')}
          >
            Rename…
          </GuardedItem>
          <GuardedItem
            permission="distributionlist:write"
            icon={<IconTrash {...icon} />}
            danger
            onClick={() => setOpen('delete')}
          >
            Delete…
          </GuardedItem>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={open === 'add'} onClose={close} title={<Heading text={`Add members to ${name}`} />} size="lg">
        <AddMembers prj={prj} pk={pk} onClose={close} />
      </Modal>
      <Modal opened={open === 'rename'} onClose={close} title={<Heading text={`Rename ${name}`} />}>
        <Rename prj={prj} pk={pk} name={name} etag={etag} onClose={close} />
      </Modal>
      <Deletion
        opened={open === 'delete'}
        onClose={close}
        what={`the list ${name}`}
        run={({ dryRun }) =>
          take(
            api.DELETE('/api/o/{org}/p/{prj}/d/{pk}/', {
              params: { path, query: { cascade: true, ...(dryRun && { dry_run: true }) } },
            }),
          )
        }
        refresh={[listsKey(org, prj)]}
        onDeleted={() => void navigate(to.lists(org, prj))}
      >
        The people themselves stay.
      </Deletion>
    </>
  );
}

function Heading({ text }: { text: string }) {
  return (
    <Text component="span" fw={600}>
      {text}
    </Text>
  );
}

function Rename({ prj, pk, name: before, etag, onClose }: ActionsProps & { onClose: () => void }) {
  const org = useOrg();
  const [name, setName] = useState(before);
  const [tag] = useState(etag);
  const rename = useAction({
    run: () =>
      take(
        api.PATCH('/api/o/{org}/p/{prj}/d/{pk}/', {
          params: { path: { org, prj, pk } },
          body: { name },
          headers: tag ? { 'if-match': tag } : {},
        }),
      ),
    done: `It is called ${name} now.`,
    refresh: [listsKey(org, prj), listKey(org, prj, pk)],
    onDone: onClose,
    quiet: true,
  });
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        rename.mutate(undefined);
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Notifications that name the list follow it."
          value={name}
          error={fieldErrors(rename.error).name}
          onChange={event => setName(event.currentTarget.value)}
          data-autofocus
        />
        <FormFailure error={rename.error} shown={['name']} reload={onClose} />
        <FormButtons>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={rename.isPending}>
            Rename
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}
