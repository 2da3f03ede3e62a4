/** What emails stand in: the organization's layouts, and each project's own. */
import { Anchor, Badge, Group, Stack, Text } from '@mantine/core';
import { IconLayout } from '@tabler/icons-react';
import { Link, useNavigate, useParams } from 'react-router';
import { GuardedButton } from '../components/actions.tsx';
import { DataTable } from '../components/data-table.tsx';
import { Page } from '../components/page.tsx';
import { Empty } from '../components/states.tsx';
import { TimeAgo } from '../components/time.tsx';
import { useLayouts } from '../layouts/use-layouts.ts';
import { to, useOrg } from '../places.ts';

export default function Layouts() {
  const org = useOrg();
  const { prj } = useParams();
  const navigate = useNavigate();
  const layouts = useLayouts(org, prj);
  const create = (
    <GuardedButton permission="template:write" onClick={() => void navigate(to.layout(org, 'new', prj))}>
      {prj ? `New layout of ${prj}` : 'New layout'}
    </GuardedButton>
  );
  return (
    <Page
      title="Layouts"
      description="The HTML around the words of an email: logo, colours, footer. A message names the one it wants; the one named default is that of all others."
      actions={create}
    >
      <Stack gap="sm">
        <div className="card">
          <DataTable
            label="Layouts"
            list={{
              rows: layouts.data ?? [],
              loading: layouts.isPending,
              error: layouts.data ? null : layouts.error,
              retry: () => void layouts.refetch(),
            }}
            rowKey={row => `${row.prj}/${row.id}`}
            rowTo={row => to.layout(org, row.id, row.prj)}
            columns={[
              {
                head: 'Name',
                cell: row => (
                  <Group gap="xs" component="span">
                    <Text component="span" size="sm" fw={500}>
                      {row.name}
                    </Text>
                    {row.name.toLowerCase() === 'default' && (
                      <Badge variant="default" tt="none">
                        of messages that name none
                      </Badge>
                    )}
                  </Group>
                ),
              },
              { head: 'Belongs to', cell: row => row.prj ?? 'every project', from: 'xs' },
              { head: 'Changed', cell: row => <TimeAgo at={row.updated_at} /> },
            ]}
            empty={
              <Empty icon={<IconLayout size={26} stroke={1.4} />} title="No layout of your own yet" action={create}>
                Emails stand in Belfry's own plain layout, which is fine on phones and in the dark. Make one named
                default to give them your logo and your footer.
              </Empty>
            }
          />
        </div>
        {prj === undefined && (layouts.data?.length ?? 0) > 0 && (
          <Text size="sm" c="dimmed">
            Choose a project above to see its own as well.
          </Text>
        )}
        {prj !== undefined && (
          <Anchor component={Link} to={to.layouts(org)} size="sm">
            Only those of the organization
          </Anchor>
        )}
      </Stack>
    </Page>
  );
}
