import { Box, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { IconPlus, IconUsers } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import type { User } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../../components/form.tsx';
import { Mark } from '../../components/mark.tsx';
import { Page } from '../../components/page.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Empty } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useList } from '../../components/use-list.ts';
import { to, useOrg } from '../../places.ts';

const columns: Column<User>[] = [
  {
    head: 'Name',
    cell: ({ first_name, last_name, email }) => (
      <Text component="span" size="sm" fw={500} display="block" style={{ overflowWrap: 'anywhere' }}>
        {`${first_name} ${last_name}`.trim() || email}
      </Text>
    ),
    width: '36%',
  },
  {
    head: 'Email',
    cell: ({ email }) => (
      <Text component="span" size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {email}
      </Text>
    ),
  },
  {
    head: 'State',
    width: 90,
    quiet: true,
    cell: ({ locked }) => locked && <Mark color="red">locked</Mark>,
  },
];

export default function People() {
  const org = useOrg();
  const [creating, setCreating] = useState(false);
  const [{ search = '' }, setFilters] = useFilters(['search']);
  const list = useList<User>({
    key: [org, 'users', search],
    fetch: (page, signal) =>
      api.GET('/api/o/{org}/u/', { params: { path: { org }, query: { ...page, ...(search && { search }) } }, signal }),
  });
  const create = (
    <GuardedButton permission="user:write" leftSection={<IconPlus size={14} />} onClick={() => setCreating(true)}>
      New person
    </GuardedButton>
  );
  return (
    <Page title="People" description="Who can be notified, with the addresses they are reached at." actions={create}>
      <Box className="card">
        <Group p="sm" role="search">
          <SearchInput
            label="First name, last name or email begins with"
            value={search}
            onChange={value => setFilters({ search: value })}
            w={{ base: '100%', xs: 360 }}
          />
        </Group>
        <DataTable
          label="People"
          list={list}
          columns={columns}
          rowKey={({ id }) => id}
          rowTo={({ username }) => to.person(org, username)}
          empty={
            search ? (
              <Empty title="Nobody is called that">
                The search compares the beginning of first name, last name and email.
              </Empty>
            ) : (
              <Empty icon={<IconUsers size={28} stroke={1.4} />} title="Nobody here yet" action={create}>
                People come in one by one, with a CSV file into a list, or from your own programs through the API.
              </Empty>
            )
          }
        />
      </Box>
      <Modal
        opened={creating}
        onClose={() => setCreating(false)}
        title={
          <Text component="span" fw={600}>
            New person
          </Text>
        }
      >
        <NewPerson onClose={() => setCreating(false)} />
      </Modal>
    </Page>
  );
}

function NewPerson({ onClose }: { onClose: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [person, setPerson] = useState({ email: '', first_name: '', last_name: '' });
  const create = useAction({
    run: () => take(api.POST('/api/o/{org}/u/', { params: { path: { org } }, body: person })),
    done: ({ email }) => `Created ${email}.`,
    refresh: [[org, 'users']],
    onDone: ({ username }) => void navigate(to.person(org, username)),
    quiet: true,
  });
  const errors = fieldErrors(create.error);
  const field = (name: keyof typeof person) => ({
    value: person[name],
    error: errors[name],
    onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
      setPerson({ ...person, [name]: event.currentTarget.value }),
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
          label="Email"
          description="In lower case, it becomes the username, which stays."
          withAsterisk
          type="email"
          data-autofocus
          {...field('email')}
        />
        <TextInput label="First name" {...field('first_name')} />
        <TextInput label="Last name" {...field('last_name')} />
        <FormFailure error={create.error} shown={Object.keys(person)} />
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
