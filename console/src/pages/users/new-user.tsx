/** Dialog to add one user. */
import { TextInput } from '@mantine/core';
import { useNavigate } from 'react-router';
import { api, take } from '../../api.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { to, useOrg } from '../../paths.ts';
import { texts } from '../../texts/users.ts';

interface NewUserProps {
  close: () => void;
  start?: { email: string; first_name: string; last_name: string };
  /** The default opens the new user's page. */
  onCreated?: () => void;
}

const emptyUser = { email: '', first_name: '', last_name: '' };

export function NewUser({ close, start = emptyUser, onCreated }: NewUserProps) {
  const org = useOrg();
  const navigate = useNavigate();
  const creating = useApiForm({
    initialValues: start,
    run: body => take(api.POST('/api/o/{org}/u/', { params: { path: { org } }, body })),
    done: ({ email }) => texts.addedUser(email),
    refresh: ['/api/o/{org}/u/'],
    onDone: ({ username }) => {
      if (onCreated) onCreated();
      else void navigate(to.user(org, username));
    },
  });
  const { form } = creating;
  return (
    <FormModal of={creating} title={texts.newUser} submit={texts.addUser} close={close}>
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
