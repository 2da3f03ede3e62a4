/** The first event, from a sample: with a project and an application around it where there is none. */
import { Group, Radio, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { slugFrom } from '../components/form.tsx';
import { createPlace } from '../events/places.ts';
import { rememberSample } from '../events/sample.ts';
import { eventSamples, findSample } from '../events/samples.ts';
import { texts } from '../texts/overview.ts';

interface StartEventProps {
  org: string;
  /** Where it goes; absent where it has to be made first. */
  place?: { prj: string; app?: string };
  close: () => void;
}

export function StartEvent({ org, place, close }: StartEventProps) {
  const starting = useApiForm({
    initialValues: { sample: 'order-receipt', project: texts.shop, application: texts.webApp },
    run: async ({ sample: key, project, application }) => {
      const { name, slug, context } = findSample(key)!;
      const prj = place?.prj ?? slugFrom(project);
      const app = place?.app ?? slugFrom(application);
      if (!place) await createPlace('project', { org }, { slug: prj, name: project });
      if (!place?.app) await createPlace('application', { org, prj }, { slug: app, name: application });
      await createPlace('event', { org, prj, app }, { slug, name });
      rememberSample({ org, prj, app, evt: slug }, context);
      return name;
    },
    done: name => texts.createdTheEvent(name),
    refresh: [[org]],
    onDone: close,
  });
  const { form } = starting;
  return (
    <FormModal of={starting} title={texts.createYourFirstEvent} submit={texts.createEvent} close={close}>
      <Radio.Group label={texts.startFrom} {...form.getInputProps('sample')}>
        <Stack gap="xs" mt={6}>
          {eventSamples.map(({ key, name, summary }) => (
            <Radio.Card key={key} value={key} p="sm" className="choice">
              <Group wrap="nowrap" align="flex-start" gap="sm">
                <Radio.Indicator mt={2} />
                <div>
                  <Text size="sm" fw={600}>
                    {name}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {summary}
                  </Text>
                </div>
              </Group>
            </Radio.Card>
          ))}
        </Stack>
      </Radio.Group>
      {!place?.app && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {!place && (
            <TextInput label={texts.project} description={texts.aProductOrTeam} {...form.getInputProps('project')} />
          )}
          <TextInput
            label={texts.application}
            description={texts.whatTriggersTheEvent}
            {...form.getInputProps('application')}
          />
        </SimpleGrid>
      )}
    </FormModal>
  );
}
