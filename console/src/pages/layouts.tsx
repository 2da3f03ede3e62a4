/** Email layouts of the organization and of its projects. */
import { Anchor, Badge, Group, Stack, Text } from '@mantine/core';
import { IconLayout } from '@tabler/icons-react';
import { Link, useNavigate } from 'react-router';
import { GuardedButton } from '../components/actions.tsx';
import { DataTable } from '../components/data-table.tsx';
import { Page } from '../components/page.tsx';
import { Empty } from '../components/states.tsx';
import { TimeAgo } from '../components/time.tsx';
import { useLayouts } from '../layouts/use-layouts.ts';
import { to, useOrg, useProject } from '../paths.ts';
import { texts } from '../texts/layouts.ts';

export default function Layouts() {
  const org = useOrg();
  const [prj, chooseProject] = useProject();
  const navigate = useNavigate();
  const layouts = useLayouts(org, prj);
  const create = (
    <GuardedButton permission="template:write" onClick={() => void navigate(to.layout(org, 'new', prj))}>
      {prj ? texts.newLayoutIn(prj) : texts.newLayout}
    </GuardedButton>
  );
  return (
    <Page title={texts.layouts} description={texts.description} actions={create}>
      <Stack gap="sm">
        <div className="card">
          <DataTable
            label={texts.layouts}
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
                head: texts.name,
                cell: row => (
                  <Group gap="xs" component="span">
                    <Text component="span" size="sm" fw={500}>
                      {row.name}
                    </Text>
                    {row.name.toLowerCase() === 'default' && (
                      <Badge variant="default" tt="none">
                        {texts.defaultBadge}
                      </Badge>
                    )}
                  </Group>
                ),
              },
              { head: texts.belongsTo, cell: row => row.prj ?? texts.allProjects, from: 'xs' },
              { head: texts.changed, cell: row => <TimeAgo at={row.updated_at} /> },
            ]}
            empty={
              <Empty icon={<IconLayout size={26} stroke={1.4} />} title={texts.noLayoutsYet} action={create}>
                {texts.noLayoutsHint}
              </Empty>
            }
          />
        </div>
        {prj === undefined && (layouts.data?.length ?? 0) > 0 && (
          <Text size="sm" c="dimmed">
            {texts.chooseAProjectHint}
          </Text>
        )}
        {prj !== undefined && (
          <Anchor component={Link} to={to.layouts(org)} onClick={() => chooseProject(undefined)} size="sm">
            {texts.organizationLayoutsOnly}
          </Anchor>
        )}
      </Stack>
    </Page>
  );
}
