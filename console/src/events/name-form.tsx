/** Creating or renaming a project, an application or an event. */
import { Text, TextInput } from '@mantine/core';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { slugFrom } from '../components/form.tsx';
import { changePlace, createPlace, type Noun, type Place } from './places.ts';

export interface NameFormProps {
  noun: Noun;
  /** What it is created in, or what is renamed. */
  place: Place;
  /** Renamed from; absent when it is created. */
  current?: string;
  close: () => void;
  onCreated?: (slug: string) => void;
}

const hints: Record<Noun, { name: string; example: string; slug: string }> = {
  project: {
    name: 'A product or team with its own lists and channels.',
    example: 'Shop',
    slug: 'Part of every URL below it. Cannot be changed later.',
  },
  application: {
    name: 'What triggers events: a web shop, a billing job, a monitor.',
    example: 'Web shop',
    slug: 'Part of the trigger URL. Cannot be changed later.',
  },
  event: {
    name: 'Something that happens and that people should hear about.',
    example: 'Order paid',
    slug: 'What your application calls. Cannot be changed later.',
  },
};

export function NameForm({ noun, place, current, close, onCreated }: NameFormProps) {
  const creates = current === undefined;
  const hint = hints[noun];
  const naming = useApiForm({
    initialValues: { name: current ?? '', slug: '' },
    run: async ({ name, slug: given }) => {
      const slug = given || slugFrom(name);
      await (creates ? createPlace(noun, place, { name, slug }) : changePlace(place, { name }));
      return slug;
    },
    done: creates ? `Created the ${noun}.` : `Renamed the ${noun}.`,
    refresh: [[place.org]],
    onDone: slug => {
      close();
      if (creates) onCreated?.(slug);
    },
  });
  const { form } = naming;
  return (
    <FormModal
      of={naming}
      title={creates ? `New ${noun}` : `Rename ${noun}`}
      submit={creates ? `Create ${noun}` : 'Rename'}
      isDisabled={form.values.name.trim() === ''}
      close={close}
    >
      <TextInput
        label="Name"
        description={hint.name}
        placeholder={creates ? hint.example : undefined}
        maxLength={255}
        data-autofocus
        {...form.getInputProps('name')}
      />
      {creates ? (
        <TextInput
          label="Slug"
          description={hint.slug}
          maxLength={100}
          classNames={{ input: 'mono' }}
          placeholder={slugFrom(hint.example)}
          {...form.getInputProps('slug')}
          value={form.values.slug || slugFrom(form.values.name)}
        />
      ) : (
        <Text size="xs" c="dimmed">
          The slug and all URLs stay the same.
        </Text>
      )}
    </FormModal>
  );
}
