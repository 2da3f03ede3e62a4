import { Select, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { NewSuppression as NewEntry } from '../../api-types.ts';
import { channelTypes, getChannelType } from '../../channel-types.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useOrg } from '../../paths.ts';
import { texts } from '../../texts/suppressions.ts';

export const reasonOptions = Object.entries(texts.reasons).map(([value, label]) => ({ value, label }));
/** Types whose channels send to an address of each recipient. */
export const typeOptions = Object.entries(channelTypes).flatMap(([value, { name, example }]) =>
  example || value === 'webpush' || value === 'push' ? [{ value, label: name }] : [],
);

export function NewSuppression({ close }: { close: () => void }) {
  const org = useOrg();
  const adding = useApiForm({
    initialValues: { channel_type: 'email', target: '', reason: 'manual', detail: '', expires_at: '' },
    run: ({ channel_type, target, reason, detail, expires_at }) =>
      take(
        api.POST('/api/o/{org}/suppressions/', {
          params: { path: { org } },
          body: {
            channel_type: channel_type as NewEntry['channel_type'],
            target: target.trim(),
            reason: reason as NewEntry['reason'],
            ...(detail && { detail }),
            // The start of the day in the viewer's time zone.
            ...(expires_at && { expires_at: new Date(`${expires_at}T00:00:00`).toISOString() }),
          },
        }),
      ),
    done: ({ target }) => texts.added(target),
    refresh: ['/api/o/{org}/suppressions/'],
    onDone: close,
  });
  const { form } = adding;
  return (
    <FormModal of={adding} title={texts.add} submit={texts.addSubmit} close={close}>
      <Select
        label={texts.channelType}
        data={typeOptions}
        allowDeselect={false}
        {...form.getInputProps('channel_type')}
      />
      <TextInput
        label={texts.target}
        description={form.values.channel_type === 'email' ? texts.targetHint : undefined}
        placeholder={getChannelType(form.values.channel_type).example}
        data-autofocus
        {...form.getInputProps('target')}
      />
      <Select label={texts.reason} data={reasonOptions} allowDeselect={false} {...form.getInputProps('reason')} />
      <TextInput label={texts.note} {...form.getInputProps('detail')} />
      <TextInput
        type="date"
        label={texts.expires}
        description={texts.expiresHint}
        {...form.getInputProps('expires_at')}
      />
    </FormModal>
  );
}
