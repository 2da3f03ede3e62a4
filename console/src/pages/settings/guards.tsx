/** Organization settings of the guards: what is held until someone decides. */
import { Fieldset, Stack, Switch, Text, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { OrganizationSettings } from '../../api-types.ts';
import {
  type GuardValues,
  LimitFields,
  organizationLimits,
  toGuard,
  validateLimits,
} from '../../approvals/guard-fields.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { useOrg } from '../../paths.ts';
import { useRefusal } from '../../session.tsx';
import { texts } from '../../texts/guards.ts';

interface GuardSettingsProps {
  settings: OrganizationSettings;
  etag: string | null;
  refill: () => void;
}

export function GuardSettings({ settings, etag, refill }: GuardSettingsProps) {
  const org = useOrg();
  const refusal = useRefusal()('organization:write');
  const editing = useApiForm({
    initialValues: { guard: { ...settings.guard } as GuardValues },
    validate: values => validateLimits(values.guard),
    draft: { key: `${org}/settings/guards`, etag },
    run: ({ guard }, headers) =>
      take(
        api.PATCH('/api/o/{org}/', {
          params: { path: { org } },
          body: { guard: toGuard(guard) as OrganizationSettings['guard'] },
          headers,
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/settings/'],
    onDone: refill,
  });
  const { form } = editing;
  const { guard } = form.values;
  const change = (next: GuardValues) => {
    form.setFieldValue('guard', next);
    form.clearErrors();
  };
  return (
    <ApiForm
      of={editing}
      isLong
      submit={texts.save}
      permission="organization:write"
      reload={refill}
      label={texts.guards}
    >
      <Text size="sm" c="dimmed">
        {texts.guardsHint}
      </Text>
      <Fieldset variant="unstyled" disabled={refusal !== undefined}>
        <Stack gap="sm">
          <LimitFields limits={organizationLimits} values={guard} errors={form.errors} onChange={change} />
          <TextInput
            label={texts.expires}
            description={texts.expiresHint}
            placeholder="24h"
            maxLength={20}
            maw={240}
            value={(guard.expires as string | undefined) ?? ''}
            error={form.errors['guard/expires']}
            onChange={event => change({ ...guard, expires: event.currentTarget.value.trim() })}
          />
          <Switch
            label={texts.fourEyes}
            description={texts.fourEyesHint}
            checked={guard.four_eyes === true}
            onChange={event => change({ ...guard, four_eyes: event.currentTarget.checked })}
          />
        </Stack>
      </Fieldset>
    </ApiForm>
  );
}
