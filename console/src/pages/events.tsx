/** All events by project and application. */
import { Anchor, Button, Group, Skeleton, Stack } from '@mantine/core';
import { IconBolt } from '@tabler/icons-react';
import { Link } from 'react-router';
import { GuardedButton } from '../components/actions.tsx';
import { Page } from '../components/page.tsx';
import { Empty, Failure } from '../components/states.tsx';
import { useProjects } from '../components/switchers.tsx';
import { useDialogParam } from '../components/use-dialog-param.ts';
import { NameForm } from '../events/name-form.tsx';
import { NewEvent } from '../events/new-event.tsx';
import { ProjectEvents } from '../events/project-events.tsx';
import { to, useOrg, useProject } from '../paths.ts';
import { texts } from '../texts/events.ts';

export default function Events() {
  const org = useOrg();
  const [prj, chooseProject] = useProject();
  const projects = useProjects();
  const [creating, setCreating] = useDialogParam();
  const [creatingEvent, setCreatingEvent] = useDialogParam('new-event');
  const shown = (projects.data ?? []).filter(({ slug }) => prj === undefined || slug === prj);
  const create = (
    <GuardedButton permission="organization:write" variant="default" onClick={() => setCreating(true)}>
      {texts.newProject}
    </GuardedButton>
  );

  return (
    <Page title={texts.events} description={texts.description} actions={create}>
      <Stack gap="lg">
        {projects.isPending && [0, 1].map(row => <Skeleton key={row} height={180} radius="lg" />)}
        {projects.error && <Failure error={projects.error} retry={() => void projects.refetch()} />}
        {shown.map(({ slug, name }) => (
          <ProjectEvents key={slug} prj={slug} name={name} />
        ))}
        {projects.data?.length === 0 && (
          <Empty icon={<IconBolt size={26} stroke={1.4} />} title={texts.noProjectsYet} action={create}>
            {texts.noProjectsHint}
          </Empty>
        )}
        {projects.data && projects.data.length > 0 && shown.length === 0 && (
          <Empty title={texts.projectNotFound(prj)}>
            <Anchor
              component={Link}
              to={to.events(org)}
              onClick={() => chooseProject(undefined)}
              inherit
              underline="always"
            >
              {texts.showAllProjects}
            </Anchor>
          </Empty>
        )}
        {prj !== undefined && shown.length > 0 && (projects.data?.length ?? 0) > 1 && (
          <Group>
            <Button component={Link} to={to.events(org)} onClick={() => chooseProject(undefined)} variant="subtle">
              {texts.showAllProjects}
            </Button>
          </Group>
        )}
      </Stack>
      {creatingEvent && <NewEvent close={() => setCreatingEvent(false)} />}
      {creating && <NameForm noun="project" resource={{ org }} close={() => setCreating(false)} />}
    </Page>
  );
}
