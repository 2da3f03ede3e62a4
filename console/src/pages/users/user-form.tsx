import { Fieldset, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { api, take } from '../../api.ts';
import type { Profile } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { JsonEditor, readObject } from '../../components/json-editor.tsx';
import { useOrg } from '../../paths.ts';
import { useRefusal } from '../../session.tsx';
import { texts } from '../../texts/users.ts';

function valuesOf({ first_name, last_name, locale, custom_fields }: Profile) {
  const isEmpty = Object.keys(custom_fields).length === 0;
  return {
    first_name,
    last_name,
    locale: locale ?? '',
    /** Unparsed text of the editor. */
    custom_fields: isEmpty ? '{}' : JSON.stringify(custom_fields, null, 2),
  };
}

interface UserFormProps {
  user: Profile;
  etag: string | null;
  /** After another action of the page has changed the user. */
  ownEtag: string | null | undefined;
  refill: () => unknown;
}

export function UserForm({ user, etag, ownEtag, refill }: UserFormProps) {
  const org = useOrg();
  const refusal = useRefusal()('user:write');
  const editing = useApiForm({
    initialValues: valuesOf(user),
    draft: { key: `${org}/users/${user.username}`, etag, ownEtag },
    run: ({ first_name, last_name, locale, custom_fields: text }, headers) => {
      const read = readObject(text);
      return take(
        api.PATCH('/api/o/{org}/u/{username}/profile/', {
          params: { path: { org, username: user.username } },
          body: {
            first_name,
            last_name,
            locale: locale.trim() || null,
            ...('value' in read && { custom_fields: read.value }),
          },
          headers,
        }),
      );
    },
    done: texts.saved,
    refresh: ['/api/o/{org}/u/'],
    onDone: refill,
  });
  const { form } = editing;
  const custom = readObject(form.values.custom_fields);
  const problem = 'error' in custom ? custom.error : undefined;
  return (
    <ApiForm
      of={editing}
      isLong
      submit={texts.save}
      permission="user:write"
      isDisabled={problem !== undefined}
      reload={refill}
    >
      <Fieldset variant="unstyled" disabled={refusal !== undefined}>
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput label={texts.firstName} {...form.getInputProps('first_name')} />
            <TextInput label={texts.lastName} {...form.getInputProps('last_name')} />
          </SimpleGrid>
          <TextInput
            label={texts.language}
            description={texts.languageHint}
            maw={320}
            {...form.getInputProps('locale')}
          />
          <JsonEditor
            label={texts.customFields}
            description={texts.customFieldsHint}
            value={form.values.custom_fields}
            onChange={text => form.setFieldValue('custom_fields', text)}
            error={problem ?? (form.errors.custom_fields as string | undefined)}
            readOnly={refusal !== undefined}
          />
        </Stack>
      </Fieldset>
    </ApiForm>
  );
}
