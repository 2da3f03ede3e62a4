/** Dialogs to edit and to rotate an API key. */
import { Select, Text, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { Key } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { exactTime } from '../../components/time.tsx';
import { useOrg } from '../../paths.ts';
import { texts } from '../../texts/keys.ts';
import { KeyFields, rulesToSend } from './key-fields.tsx';
import { ShowKey } from './show-key.tsx';

interface ChangeProps {
  of: Key;
  close: () => void;
}

export function EditKey({ of: before, close }: ChangeProps) {
  const org = useOrg();
  const editing = useApiForm({
    initialValues: {
      name: before.name,
      expires_at: before.expires_at,
      requests_per_second: before.requests_per_second,
      allowed_networks: before.allowed_networks ?? [],
    },
    run: ({ name, ...rules }) =>
      take(
        api.PATCH('/api/o/{org}/k/{key}/', {
          params: { path: { org, key: before.id } },
          body: { name, ...rulesToSend(rules) },
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/k/'],
    onDone: close,
  });
  return (
    <FormModal of={editing} title={texts.editTitle(before.name)} submit={texts.save} reload={close} close={close}>
      <TextInput label={texts.name} data-autofocus {...editing.form.getInputProps('name')} />
      <KeyFields form={editing.form} />
    </FormModal>
  );
}

const overlaps = [
  { value: '10m', label: texts.tenMinutes },
  { value: '1h', label: texts.oneHour },
  { value: '24h', label: texts.oneDay },
  { value: '7d', label: texts.sevenDays },
  { value: '30d', label: texts.thirtyDays },
];

export function RotateKey({ of: before, close }: ChangeProps) {
  const org = useOrg();
  const rotating = useApiForm({
    initialValues: { overlap: '24h' },
    run: body => take(api.POST('/api/o/{org}/k/{key}/rotate/', { params: { path: { org, key: before.id } }, body })),
    refresh: ['/api/o/{org}/k/'],
  });
  const rotated = rotating.action.data;
  const { permissions, project, application } = before;
  return (
    <FormModal
      of={rotating}
      title={texts.rotateTitle(before.name)}
      submit={texts.rotate}
      size="lg"
      close={close}
      result={
        rotated && (
          <ShowKey
            secret={rotated.key}
            permissions={permissions}
            project={project}
            application={application}
            onClose={close}
          >
            {rotated.previous.expires_at && (
              <Text size="sm" c="dimmed">
                {texts.oldKeyWorksUntil(exactTime(rotated.previous.expires_at))}
              </Text>
            )}
          </ShowKey>
        )
      }
    >
      <Text size="sm">{texts.rotateHint}</Text>
      <Select
        label={texts.oldKeyWorksFor}
        data={overlaps}
        allowDeselect={false}
        {...rotating.form.getInputProps('overlap')}
      />
    </FormModal>
  );
}
