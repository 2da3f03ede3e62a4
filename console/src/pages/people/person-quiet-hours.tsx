/** When somebody is not to be disturbed, and where they are. */
import { Fieldset } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import type { OrganizationSettings, Preferences } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { Section } from '../../components/page.tsx';
import {
  describeHours,
  QuietFields,
  type QuietValues,
  quietFields,
  quietValues,
  validateQuiet,
} from '../../components/quiet-hours.tsx';
import { useOrg } from '../../places.ts';
import { useCan, useRefusal } from '../../session.tsx';
import { texts } from '../../texts/preferences.ts';
import { preferencesKey, usePreferences } from './use-preferences.ts';

export function PersonQuietHours({ username }: { username: string }) {
  const isAllowed = useCan()('preference:read');
  return isAllowed ? <Shown username={username} /> : null;
}

function Shown({ username }: { username: string }) {
  const org = useOrg();
  const { own } = usePreferences(username);
  const settings = useQuery({
    queryKey: [org, 'settings', 'quiet'],
    queryFn: ({ signal }) => take(api.GET('/api/o/{org}/settings/', { params: { path: { org } }, signal })),
  });
  return (
    <Section title={texts.quietHours}>
      {own.data && settings.data && (
        <Form
          // What somebody else saved meanwhile fills the form anew.
          key={JSON.stringify([username, own.data.timezone, own.data.quiet_hours])}
          username={username}
          own={own.data}
          settings={settings.data}
        />
      )}
    </Section>
  );
}

function Form({ username, own, settings }: { username: string; own: Preferences; settings: OrganizationSettings }) {
  const org = useOrg();
  const refusal = useRefusal()('preference:write');
  const initial = quietValues(own.quiet_hours, own.timezone, 'usual', settings.quiet_hours);
  const editing = useApiForm<QuietValues & Record<string, unknown>, unknown>({
    initialValues: { ...initial },
    validate: validateQuiet,
    run: values =>
      take(
        api.PATCH('/api/o/{org}/u/{username}/preferences/', {
          params: { path: { org, username } },
          body: quietFields(values, 'usual'),
        }),
      ),
    done: texts.saved,
    refresh: [preferencesKey(org, username)],
  });
  return (
    <ApiForm of={editing} submit={texts.save} permission="preference:write" label={texts.quietHours}>
      <Fieldset variant="unstyled" disabled={refusal !== undefined}>
        <QuietFields
          form={editing.form}
          modes={[
            { value: 'usual', label: texts.usualHours(describeHours(settings.quiet_hours)) },
            { value: 'own', label: texts.ownHours },
            { value: 'none', label: texts.noHours },
          ]}
          hint={texts.quietHint}
          usualTimezone={texts.usualTimezone(settings.timezone ?? 'UTC')}
        />
      </Fieldset>
    </ApiForm>
  );
}
