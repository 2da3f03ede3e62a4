import { Fieldset, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { Profile } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { FormButtons, FormFailure, fieldErrors } from '../../components/form.tsx';
import { JsonEditor, readObject } from '../../components/json-editor.tsx';
import { useOrg } from '../../places.ts';
import { useRefusal } from '../../session.tsx';
import { personKey } from './person-key.ts';

function draftOf({ first_name, last_name, locale, custom_fields }: Profile) {
  const custom = Object.keys(custom_fields).length > 0 ? JSON.stringify(custom_fields, null, 2) : '{}';
  return { first_name, last_name, locale: locale ?? '', custom };
}

export function PersonForm({ person, etag }: { person: Profile; etag: string | null }) {
  const org = useOrg();
  const queries = useQueryClient();
  const refusal = useRefusal()('user:write');
  const [draft, setDraft] = useState(() => draftOf(person));
  // Of what the form was filled with: it stays while somebody types.
  const [tag, setTag] = useState(etag);
  const key = personKey(org, person.username);
  const refill = () => {
    const read = queries.getQueryData<{ value: Profile; etag: string | null }>([...key, 'profile']);
    if (!read) return;
    setDraft(draftOf(read.value));
    setTag(read.etag);
  };
  const custom = readObject(draft.custom);
  const save = useAction({
    run: async () => {
      if (!('value' in custom)) return;
      const { first_name, last_name, locale } = draft;
      await take(
        api.PATCH('/api/o/{org}/u/{username}/profile/', {
          params: { path: { org, username: person.username } },
          body: { first_name, last_name, locale: locale.trim() || null, custom_fields: custom.value },
          headers: tag ? { 'if-match': tag } : {},
        }),
      );
    },
    done: 'Saved.',
    refresh: [key, [org, 'users']],
    onDone: refill,
    quiet: true,
  });
  const errors = fieldErrors(save.error);
  const field = (name: 'first_name' | 'last_name' | 'locale') => ({
    value: draft[name],
    error: errors[name],
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => setDraft({ ...draft, [name]: event.currentTarget.value }),
  });
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        if ('value' in custom) save.mutate(undefined);
      }}
    >
      <Fieldset variant="unstyled" disabled={refusal !== undefined}>
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput label="First name" {...field('first_name')} />
            <TextInput label="Last name" {...field('last_name')} />
          </SimpleGrid>
          <TextInput
            label="Language"
            description="Such as en or pt-BR: messages that have words in it use them."
            maw={320}
            {...field('locale')}
          />
          <JsonEditor
            label="Custom fields"
            description="Free-form JSON, at hand in messages and in expressions that choose recipients."
            value={draft.custom}
            onChange={text => setDraft({ ...draft, custom: text })}
            error={'error' in custom ? custom.error : errors.custom_fields}
            readOnly={refusal !== undefined}
          />
          <FormFailure
            error={save.error}
            shown={['first_name', 'last_name', 'locale', 'custom_fields']}
            reload={() => void queries.refetchQueries({ queryKey: key }).then(refill)}
          />
        </Stack>
      </Fieldset>
      <FormButtons>
        <GuardedButton permission="user:write" type="submit" loading={save.isPending} disabled={'error' in custom}>
          Save
        </GuardedButton>
      </FormButtons>
    </form>
  );
}
