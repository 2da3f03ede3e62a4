/** A user's quiet hours and time zone. */
import { Fieldset } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import type { OrganizationSettings, Preferences } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { Section } from '../../components/page.tsx';
import {
  describeHours,
  QuietHoursFields,
  type QuietHoursValues,
  toQuietHoursFields,
  toQuietHoursValues,
  validateQuietHours,
} from '../../components/quiet-hours.tsx';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { useCan, useRefusal } from '../../session.tsx';
import { texts } from '../../texts/preferences.ts';
import { usePreferences } from './use-preferences.ts';

export function UserQuietHours({ username }: { username: string }) {
  const isAllowed = useCan()('preference:read');
  return isAllowed ? <QuietHoursSection username={username} /> : null;
}

function QuietHoursSection({ username }: { username: string }) {
  const org = useOrg();
  const { own } = usePreferences(username);
  const settings = useQuery({
    ...read('/api/o/{org}/settings/', { path: { org } }),
  });
  return (
    <Section title={texts.quietHours}>
      {own.data && settings.data && (
        <Form
          // The key refills the form with what someone else saved in the meantime.
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
  const initial = toQuietHoursValues(own.quiet_hours, own.timezone, 'default', settings.quiet_hours);
  const editing = useApiForm<QuietHoursValues & Record<string, unknown>, unknown>({
    initialValues: { ...initial },
    validate: validateQuietHours,
    run: values =>
      take(
        api.PATCH('/api/o/{org}/u/{username}/preferences/', {
          params: { path: { org, username } },
          body: toQuietHoursFields(values, 'default'),
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/u/{username}/'],
  });
  const zone = editing.form.values.timezone || (settings.timezone ?? 'UTC');
  return (
    <ApiForm of={editing} submit={texts.save} permission="preference:write" label={texts.quietHours}>
      <Fieldset variant="unstyled" disabled={refusal !== undefined}>
        <QuietHoursFields
          form={editing.form}
          modes={[
            { value: 'default', label: texts.defaultHours(describeHours(settings.quiet_hours, zone)) },
            { value: 'custom', label: texts.customHours },
            { value: 'none', label: texts.noHours },
          ]}
          hint={texts.quietHint}
          defaultTimezone={texts.defaultTimezone(settings.timezone ?? 'UTC')}
          defaultZone={settings.timezone ?? 'UTC'}
        />
      </Fieldset>
    </ApiForm>
  );
}
