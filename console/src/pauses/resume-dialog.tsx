/** Asks what becomes of the messages that a pause holds: sent at once, sent slowly, or dropped. */
import { NumberInput, Radio, Stack, Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import { ApiForm, useApiForm } from '../components/api-form.tsx';
import { texts } from '../texts/pauses.ts';
import type { Resuming } from './resume.ts';

const maxPerSecond = 100_000;

interface Question {
  /** Name of what is paused. */
  name: string;
  /** How much is held, in a sentence. */
  waiting: string;
  run: (how: Resuming) => Promise<unknown>;
}

export function askToResume(question: Question): void {
  const id = modals.open({
    title: texts.resumeQuestion(question.name),
    children: <ResumeForm {...question} close={() => modals.close(id)} />,
  });
}

function ResumeForm({ waiting, run, close }: Question & { close: () => void }) {
  const resuming = useApiForm({
    initialValues: { how: 'now', perSecond: 50 as number | string },
    run: ({ how, perSecond }) =>
      run(how === 'drop' ? { drop: true } : how === 'slowly' ? { per_second: Number(perSecond) } : {}),
    onDone: close,
  });
  const { form } = resuming;
  const { how } = form.values;
  return (
    <ApiForm of={resuming} submit={how === 'drop' ? texts.resumeAndDrop : texts.resume} cancel={close}>
      <Text size="sm">{waiting}</Text>
      <Radio.Group aria-label={texts.whatIsHeld} {...form.getInputProps('how')}>
        <Stack gap="xs">
          <Radio value="now" label={texts.sendNow} />
          <Radio value="slowly" label={texts.sendSlowly} />
          {how === 'slowly' && (
            <NumberInput
              label={texts.perSecond}
              description={texts.perSecondHint}
              min={1}
              max={maxPerSecond}
              allowDecimal={false}
              maw={200}
              ml={28}
              {...form.getInputProps('perSecond')}
            />
          )}
          <Radio value="drop" label={texts.drop} description={texts.dropHint} />
        </Stack>
      </Radio.Group>
    </ApiForm>
  );
}
