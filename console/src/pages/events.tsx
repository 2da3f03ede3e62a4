/** Every event, by project and application. */
import { Anchor, Button, Group, Skeleton, Stack } from '@mantine/core';
import { IconBolt } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useParams } from 'react-router';
import { GuardedButton } from '../components/actions.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { useProjects } from '../components/switchers.tsx';
import { NameForm } from '../events/name-form.tsx';
import { ProjectEvents } from '../events/project-events.tsx';
import { to, useOrg } from '../places.ts';

export default function Events() {
  const org = useOrg();
  const { prj } = useParams();
  const projects = useProjects();
  const [creating, setCreating] = useState(false);
  const shown = (projects.data ?? []).filter(({ slug }) => prj === undefined || slug === prj);
  const create = (
    <GuardedButton permission="organization:write" variant="default" onClick={() => setCreating(true)}>
      New project
    </GuardedButton>
  );

  return (
    <Page
      title="Events"
      description="What your applications tell Belfry about. Each event has notifications: who is told, by which channels, in which words."
      actions={create}
    >
      <Stack gap="lg">
        {projects.isPending && [0, 1].map(row => <Skeleton key={row} height={180} radius="lg" />)}
        {projects.error && <Failure error={projects.error} retry={() => void projects.refetch()} />}
        {shown.map(({ slug, name }) => (
          <ProjectEvents key={slug} prj={slug} name={name} />
        ))}
        {projects.data?.length === 0 && (
          <Empty icon={<IconBolt size={26} stroke={1.4} />} title="There is no project yet" action={create}>
            A project holds the applications of one product or team, and each application its events: shop / web /
            order-paid. Begin with a project, then add an application and its first event.
          </Empty>
        )}
        {projects.data && projects.data.length > 0 && shown.length === 0 && (
          <Empty title={`There is no project ${prj}`}>
            <Anchor component={Link} to={to.events(org)} inherit underline="always">
              See the events of all projects
            </Anchor>
          </Empty>
        )}
        {prj !== undefined && shown.length > 0 && (projects.data?.length ?? 0) > 1 && (
          <Group>
            <Button component={Link} to={to.events(org)} variant="subtle">
              Events of all projects
            </Button>
          </Group>
        )}
      </Stack>
      {creating && <NameForm noun="project" place={{ org }} close={() => setCreating(false)} />}
    </Page>
  );
}
