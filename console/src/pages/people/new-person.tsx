/** Dialog to add one person. */
import { TextInput } from '@mantine/core';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { to, useOrg } from '../../paths.ts';
import { texts } from '../../texts/people.ts';

interface NewPersonProps {
  close: () => void;
  start?: { email: string; first_name: string; last_name: string };
  /** The default opens the new person's page. */
  onCreated?: () => void;
}

const emptyPerson = { email: '', first_name: '', last_name: '' };

export function NewPerson({ close, start = emptyPerson, onCreated }: NewPersonProps) {
  const org = useOrg();
  const navigate = useNavigate();
  const creating = useApiForm({
    initialValues: start,
    run: body => take(api.POST('/api/o/{org}/u/', { params: { path: { org } }, body })),
    done: ({ email }) => texts.addedPerson(email),
    refresh: ['/api/o/{org}/u/'],
    onDone: ({ username }) => {
      if (onCreated) onCreated();
      else void navigate(to.person(org, username));
    },
  });
  const { form } = creating;
  return (
    <FormModal of={creating} title={texts.newPerson} submit={texts.addPerson} close={close}>
      <TextInput
        label={texts.email}
        description={texts.emailHint}
        withAsterisk
        type="email"
        data-autofocus
        {...form.getInputProps('email')}
      />
      <TextInput label={texts.firstName} {...form.getInputProps('first_name')} />
      <TextInput label={texts.lastName} {...form.getInputProps('last_name')} />
    </FormModal>
  );
}
