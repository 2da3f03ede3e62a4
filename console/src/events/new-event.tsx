/** A new event from anywhere: the application is chosen in the dialog. */
import { Select } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { useEvents } from '../components/use-events.ts';
import { to, useOrg, useProject } from '../places.ts';
import { texts } from '../texts/events.ts';
import { NameForm } from './name-form.tsx';

/** Where an event that was just made is gone on with. */
export function eventMade(org: string, prj: string, app: string, evt: string, sample: string): string {
  return sample ? `${to.notification(org, prj, app, evt, 'new')}?sample=${sample}` : to.event(org, prj, app, evt);
}

/** Nothing where there is no application yet: the page says what to do first. */
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
      place={{ org, prj, app }}
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
      onCreated={(evt, sample) => void navigate(eventMade(org, prj, app, evt, sample))}
    />
  );
}
