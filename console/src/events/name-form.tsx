/** Creating or renaming a project, an application or an event. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useAction } from '../components/actions.tsx';
import { FormFailure, fieldErrors, slugFrom } from '../components/form.tsx';
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
    name: 'A product or a team; it has its own lists and channels.',
    example: 'Shop',
    slug: 'Part of every address below it. It cannot be changed later.',
  },
  application: {
    name: 'What triggers events: a web shop, a billing job, a monitor.',
    example: 'Web shop',
    slug: 'Part of the address that is triggered. It cannot be changed later.',
  },
  event: {
    name: 'Something that happens and that somebody wants to hear of.',
    example: 'Order paid',
    slug: 'What your application calls. It cannot be changed later.',
  },
};

export function NameForm({ noun, place, current, close, onCreated }: NameFormProps) {
  const creates = current === undefined;
  const form = useForm({ initialValues: { name: current ?? '', slug: '' } });
  const slug = form.values.slug || slugFrom(form.values.name);
  const save = useAction({
    run: ({ name }: { name: string }) =>
      creates ? createPlace(noun, place, { name, slug }) : changePlace(place, { name }),
    done: creates ? `Created the ${noun}.` : `Renamed the ${noun}.`,
    refresh: [[place.org]],
    quiet: true,
    onDone: () => {
      close();
      if (creates) onCreated?.(slug);
    },
  });
  const submit = (values: { name: string }) =>
    save.mutate(values, {
      onError: error => form.setErrors(fieldErrors(error)),
    });
  return (
    <Modal opened onClose={close} title={creates ? `New ${noun}` : `Rename ${noun}`}>
      <form onSubmit={form.onSubmit(submit)} noValidate>
        <Stack>
          <TextInput
            label="Name"
            description={hints[noun].name}
            placeholder={creates ? `Such as ${hints[noun].example}` : undefined}
            maxLength={255}
            data-autofocus
            {...form.getInputProps('name')}
          />
          {creates ? (
            <TextInput
              label="Slug"
              description={hints[noun].slug}
              maxLength={100}
              classNames={{ input: 'mono' }}
              placeholder={slugFrom(hints[noun].example)}
              {...form.getInputProps('slug')}
              value={slug}
            />
          ) : (
            <Text size="xs" c="dimmed">
              The slug and every address stay as they are.
            </Text>
          )}
          <FormFailure error={save.error} shown={['name', 'slug']} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={form.values.name.trim() === ''}>
              {creates ? `Create ${noun}` : 'Rename'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
