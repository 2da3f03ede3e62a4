/** Dialog for a new event, in which the application is selected. */
import { Select } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { useEvents } from '../components/use-events.ts';
import { to, useOrg, useProject } from '../paths.ts';
import { texts } from '../texts/events.ts';
import { NameForm } from './name-form.tsx';

/** Returns the page to open after an event was created. */
export function pageOfNewEvent(org: string, prj: string, app: string, evt: string, sample: string): string {
  return sample ? `${to.notification(org, prj, app, evt, 'new')}?sample=${sample}` : to.event(org, prj, app, evt);
}

/** Renders nothing without an application: the page explains what to create first. */
export function NewEvent({ close }: { close: () => void }) {
  const org = useOrg();
  const navigate = useNavigate();
  const [project] = useProject();
  const { data } = useEvents();
  const [chosen, setChosen] = useState<string | null>(null);
  const all = (data?.projects ?? []).flatMap(({ slug, applications }) => applications.map(app => `${slug}/${app}`));
  const path = chosen ?? all.find(each => each.startsWith(`${project}/`)) ?? all[0];
  if (!path) return null;
  const [prj = '', app = ''] = path.split('/');
  return (
    <NameForm
      noun="event"
      resource={{ org, prj, app }}
      lead={
        all.length > 1 && (
          <Select
            label={texts.application}
            data={all}
            value={path}
            allowDeselect={false}
            searchable
            onChange={setChosen}
          />
        )
      }
      close={close}
      onCreated={(evt, sample) => void navigate(pageOfNewEvent(org, prj, app, evt, sample))}
    />
  );
}
