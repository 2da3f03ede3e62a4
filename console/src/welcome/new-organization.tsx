/** Creates an organization (instance admins only); its creator becomes the owner. */
import { TextInput } from '@mantine/core';
import { useNavigate } from 'react-router';
import { api, take } from '../api.ts';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { slugFrom } from '../components/slug.ts';
import { to } from '../paths.ts';
import { texts } from '../texts/overview.ts';

export function NewOrganization({ close }: { close: () => void }) {
  const navigate = useNavigate();
  const creating = useApiForm({
    initialValues: { name: '', slug: '' },
    run: ({ name, slug }) => take(api.POST('/api/o/', { body: { name, slug: slug || slugFrom(name) } })),
    done: ({ name }) => texts.createdTheOrganization(name),
    refresh: ['/api/session/'],
    onDone: ({ slug }) => {
      close();
      void navigate(to.overview(slug));
    },
  });
  const { form } = creating;
  return (
    <FormModal
      of={creating}
      title={texts.newOrganization}
      submit={texts.createOrganization}
      isDisabled={form.values.name.trim() === ''}
      close={close}
    >
      <TextInput
        label={texts.name}
        description={texts.organizationHint}
        placeholder={texts.organizationExample}
        maxLength={255}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <TextInput
        label={texts.slug}
        description={texts.slugHint}
        maxLength={100}
        classNames={{ input: 'mono' }}
        placeholder={texts.slugExample}
        {...form.getInputProps('slug')}
        value={form.values.slug || slugFrom(form.values.name)}
      />
    </FormModal>
  );
}
