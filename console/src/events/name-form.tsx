/** Creates or renames a project, an application or an event; for an event it also sets the category. */
import { Select, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { categoryOptions, generalSlug, useCategories } from '../categories.ts';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { slugFrom } from '../components/slug.ts';
import { limitsOf } from '../form-fields.ts';
import { texts } from '../texts/events.ts';
import { changeResource, createResource, type ResourceKind, type ResourcePath } from './resource-api.ts';
import { rememberSample } from './sample.ts';
import { eventSamples, findSample } from './samples.ts';

export interface NameFormProps {
  noun: ResourceKind;
  /** The parent of a new resource, or the resource to rename. */
  resource: ResourcePath;
  /** Current values; undefined for a new resource. */
  current?: { name: string; category?: string };
  /** Shown above the fields. */
  lead?: ReactNode;
  close: () => void;
  /** `sample`: key of the sample that it was created from, or empty. */
  onCreated?: (slug: string, sample: string) => void;
}

const hints: Record<ResourceKind, { name: string; example: string; slug: string }> = {
  project: {
    name: texts.projectHint,
    example: texts.projectExample,
    slug: texts.projectSlugHint,
  },
  application: {
    name: texts.applicationHint,
    example: texts.applicationExample,
    slug: texts.applicationSlugHint,
  },
  event: {
    name: texts.eventHint,
    example: texts.eventExample,
    slug: texts.eventSlugHint,
  },
};

export function NameForm({ noun, resource, current, lead, close, onCreated }: NameFormProps) {
  const isNew = current === undefined;
  const isEvent = noun === 'event';
  const hint = hints[noun];
  const { data: categories } = useCategories();
  const naming = useApiForm({
    initialValues: { name: current?.name ?? '', slug: '', sample: '', category: current?.category ?? generalSlug },
    run: async ({ name, slug: typedSlug, sample, category: chosen }) => {
      const slug = typedSlug || slugFrom(name);
      const { org, prj = '', app = '' } = resource;
      const category = chosen === generalSlug ? null : chosen;
      if (isNew) await createResource(noun, resource, { name, slug, ...(category && { category }) });
      else await changeResource(resource, { name, ...(isEvent && current.category !== chosen && { category }) });
      const found = findSample(sample);
      if (found) rememberSample({ org, prj, app, evt: slug }, found.context);
      return { slug, sample };
    },
    done: isNew ? texts.createdNoun(noun) : isEvent ? texts.saved : texts.renamedNoun(noun),
    refresh: ['/api/o/{org}/'],
    onDone: ({ slug, sample }) => {
      close();
      if (isNew) onCreated?.(slug, sample);
    },
  });
  const { form } = naming;
  return (
    <FormModal
      of={naming}
      title={isNew ? texts.newNoun(noun) : isEvent ? texts.editEvent : texts.renameNoun(noun)}
      submit={isNew ? texts.createNoun(noun) : isEvent ? texts.save : texts.rename}
      isDisabled={form.values.name.trim() === ''}
      close={close}
    >
      {lead}
      {isNew && isEvent && (
        <Select
          label={texts.startFrom}
          data={[
            { value: '', label: texts.blankEvent },
            ...eventSamples.map(({ key, name }) => ({ value: key, label: `Sample: ${name}` })),
          ]}
          allowDeselect={false}
          {...form.getInputProps('sample')}
          onChange={key => {
            const sample = findSample(key);
            form.setValues({ ...form.values, sample: key ?? '', name: sample?.name ?? '', slug: '' });
          }}
        />
      )}
      <TextInput
        label={texts.name}
        description={hint.name}
        placeholder={isNew ? hint.example : undefined}
        {...limitsOf('NewEvent', 'name')}
        data-autofocus
        {...form.getInputProps('name')}
      />
      {isNew ? (
        <TextInput
          label={texts.slug}
          description={hint.slug}
          {...limitsOf('NewEvent', 'slug')}
          classNames={{ input: 'mono' }}
          placeholder={slugFrom(hint.example)}
          {...form.getInputProps('slug')}
          value={form.values.slug || slugFrom(form.values.name)}
        />
      ) : (
        !isEvent && (
          <Text size="xs" c="dimmed">
            {texts.renameHint}
          </Text>
        )
      )}
      {isEvent && categories && (
        <Select
          label={texts.category}
          description={texts.categoryHint}
          data={categoryOptions(categories)}
          allowDeselect={false}
          searchable
          nothingFoundMessage={texts.noMatches}
          {...form.getInputProps('category')}
        />
      )}
    </FormModal>
  );
}
