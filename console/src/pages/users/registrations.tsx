/** Applications that have registered a user, with the data of each. Hidden if there are none. */
import { Code, Text } from '@mantine/core';
import type { UserRegistration } from '../../api-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { useList } from '../../components/use-list.ts';
import { useOrg } from '../../paths.ts';
import { pages } from '../../queries.ts';
import { texts } from '../../texts/users.ts';
import { activeColumn } from './active-column.tsx';

const columns: Column<UserRegistration>[] = [
  {
    head: texts.application,
    cell: ({ project, application, custom_fields }) => (
      <>
        <Text component="span" display="block" size="sm" fw={500}>
          {project}/{application}
        </Text>
        {Object.keys(custom_fields).length > 0 && (
          <Code block fz="xs" mt={4} mah={240}>
            {JSON.stringify(custom_fields, null, 2)}
          </Code>
        )}
      </>
    ),
  },
  activeColumn,
];

export function Registrations({ username }: { username: string }) {
  const org = useOrg();
  const list = useList(pages('/api/o/{org}/u/{username}/registrations/', { path: { org, username } }));
  if (list.rows.length === 0 && !list.error) return null;
  return (
    <Section title={texts.registrations} padded={false}>
      <Text size="sm" c="dimmed" px="md" pb="xs">
        {texts.registrationsHint}
      </Text>
      <DataTable label={texts.registrations} list={list} columns={columns} rowKey={({ id }) => id} empty={null} />
    </Section>
  );
}
