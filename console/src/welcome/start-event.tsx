/** Creates the first event from a sample, with a project and an application if there are none. */
import { Group, Radio, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { FormModal, useApiForm } from '../components/api-form.tsx';
import { slugFrom } from '../components/slug.ts';
import { createResource } from '../events/resource-api.ts';
import { rememberSample } from '../events/sample.ts';
import { eventSamples, findSample } from '../events/samples.ts';
import { texts } from '../texts/overview.ts';

interface StartEventProps {
  org: string;
  /** Existing project and application; undefined if they are created too. */
  parent?: { prj: string; app?: string };
  close: () => void;
}

export function StartEvent({ org, parent, close }: StartEventProps) {
  const starting = useApiForm({
    initialValues: { sample: 'order-receipt', project: texts.shop, application: texts.webApp },
    run: async ({ sample: key, project, application }) => {
      const { name, slug, context } = findSample(key)!;
      const prj = parent?.prj ?? slugFrom(project);
      const app = parent?.app ?? slugFrom(application);
      if (!parent) await createResource('project', { org }, { slug: prj, name: project });
      if (!parent?.app) await createResource('application', { org, prj }, { slug: app, name: application });
      await createResource('event', { org, prj, app }, { slug, name });
      rememberSample({ org, prj, app, evt: slug }, context);
      return name;
    },
    done: name => texts.createdTheEvent(name),
    refresh: ['/api/o/{org}/'],
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
      {!parent?.app && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {!parent && (
            <TextInput label={texts.project} description={texts.projectHint} {...form.getInputProps('project')} />
          )}
          <TextInput
            label={texts.application}
            description={texts.applicationHint}
            {...form.getInputProps('application')}
          />
        </SimpleGrid>
      )}
    </FormModal>
  );
}
