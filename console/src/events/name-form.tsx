/** Creating or renaming a project, an application or an event; of an event the category as well. */
import { Select, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { categoryOptions, generalSlug, useCategories } from '../categories.ts';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { slugFrom } from '../components/form.tsx';
import { texts } from '../texts/events.ts';
import { changePlace, createPlace, type Noun, type Place } from './places.ts';
import { rememberSample } from './sample.ts';
import { eventSamples, findSample } from './samples.ts';

export interface NameFormProps {
  noun: Noun;
  /** What it is created in, or what is renamed. */
  place: Place;
  /** What it is now; absent when it is created. */
  current?: { name: string; category?: string };
  /** Above the fields. */
  lead?: ReactNode;
  close: () => void;
  /** `sample`: key of what it was made from, empty for none. */
  onCreated?: (slug: string, sample: string) => void;
}

const hints: Record<Noun, { name: string; example: string; slug: string }> = {
  project: {
    name: texts.aProductOrTeamWithIts,
    example: texts.shop,
    slug: texts.partOfEveryUrlBelowIt,
  },
  application: {
    name: texts.whatTriggersEventsAWebShop,
    example: texts.webShop,
    slug: texts.partOfTheTriggerUrlCannot,
  },
  event: {
    name: texts.somethingThatHappensAndThatPeople,
    example: texts.orderPaid,
    slug: texts.whatYourApplicationCallsCannotBe,
  },
};

export function NameForm({ noun, place, current, lead, close, onCreated }: NameFormProps) {
  const creates = current === undefined;
  const isEvent = noun === 'event';
  const hint = hints[noun];
  const { data: categories } = useCategories();
  const naming = useApiForm({
    initialValues: { name: current?.name ?? '', slug: '', sample: '', category: current?.category ?? generalSlug },
    run: async ({ name, slug: given, sample, category: chosen }) => {
      const slug = given || slugFrom(name);
      const { org, prj = '', app = '' } = place;
      const category = chosen === generalSlug ? null : chosen;
      if (creates) await createPlace(noun, place, { name, slug, ...(category && { category }) });
      else await changePlace(place, { name, ...(isEvent && current.category !== chosen && { category }) });
      const found = findSample(sample);
      if (found) rememberSample({ org, prj, app, evt: slug }, found.context);
      return { slug, sample };
    },
    done: creates ? texts.createdThe(noun) : isEvent ? texts.saved : texts.renamedThe(noun),
    refresh: [[place.org]],
    onDone: ({ slug, sample }) => {
      close();
      if (creates) onCreated?.(slug, sample);
    },
  });
  const { form } = naming;
  return (
    <FormModal
      of={naming}
      title={creates ? texts.newWord(noun) : isEvent ? texts.editEvent : texts.rename(noun)}
      submit={creates ? texts.create(noun) : isEvent ? texts.save : texts.rename2}
      isDisabled={form.values.name.trim() === ''}
      close={close}
    >
      {lead}
      {creates && isEvent && (
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
        placeholder={creates ? hint.example : undefined}
        maxLength={255}
        data-autofocus
        {...form.getInputProps('name')}
      />
      {creates ? (
        <TextInput
          label={texts.slug}
          description={hint.slug}
          maxLength={100}
          classNames={{ input: 'mono' }}
          placeholder={slugFrom(hint.example)}
          {...form.getInputProps('slug')}
          value={form.values.slug || slugFrom(form.values.name)}
        />
      ) : (
        !isEvent && (
          <Text size="xs" c="dimmed">
            {texts.theSlugAndAllUrlsStay}
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
