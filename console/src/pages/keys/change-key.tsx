/** What can be changed of a key that exists, and its replacement by a new one. */
import { Select, Text, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { Key } from '../../api-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { exactTime } from '../../components/time.tsx';
import { useOrg } from '../../places.ts';
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
    refresh: [[org, 'keys']],
    onDone: close,
  });
  return (
    <FormModal of={editing} title={texts.edit(before.name)} submit={texts.save} reload={close} close={close}>
      <TextInput label={texts.name} data-autofocus {...editing.form.getInputProps('name')} />
      <KeyFields form={editing.form} />
    </FormModal>
  );
}

const overlaps = [
  { value: '10m', label: texts.n10Minutes },
  { value: '1h', label: texts.n1Hour },
  { value: '24h', label: texts.n1Day },
  { value: '7d', label: texts.n7Days },
  { value: '30d', label: texts.n30Days },
];

export function RotateKey({ of: before, close }: ChangeProps) {
  const org = useOrg();
  const rotating = useApiForm({
    initialValues: { overlap: '24h' },
    run: body => take(api.POST('/api/o/{org}/k/{key}/rotate/', { params: { path: { org, key: before.id } }, body })),
    refresh: [[org, 'keys']],
  });
  const rotated = rotating.action.data;
  const { permissions, project, application } = before;
  return (
    <FormModal
      of={rotating}
      title={texts.rotate(before.name)}
      submit={texts.rotate2}
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
                {texts.theOldKeyWorksUntilReplace(exactTime(rotated.previous.expires_at))}
              </Text>
            )}
          </ShowKey>
        )
      }
    >
      <Text size="sm">{texts.youGetANewKeyWith}</Text>
      <Select
        label={texts.oldKeyWorksFor}
        data={overlaps}
        allowDeselect={false}
        {...rotating.form.getInputProps('overlap')}
      />
    </FormModal>
  );
}
