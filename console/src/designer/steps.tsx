/** The step editor: each step's delay, channels, recipients and condition, a plain description, and a timeline. */
import {
  Box,
  Button,
  Checkbox,
  Group,
  MultiSelect,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import type { Preview } from '../api-types.ts';
import type { EventPath } from '../events/sample.ts';
import { limitsOf } from '../form-fields.ts';
import { texts } from '../texts/designer.ts';
import { audienceValue, readValue } from './audience-value.ts';
import { describeStep } from './describe-steps.ts';
import type { Draft, DraftStep } from './draft.ts';
import { errorAt } from './errors.ts';
import { useAudiences, withOwn } from './step-audience.ts';
import { StepTimeline } from './step-timeline.tsx';
import type { UsableChannel } from './use-channels.ts';

export interface StepsProps {
  path: EventPath;
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  errors: Record<string, string[]>;
  channels: UsableChannel[];
  preview: Preview | undefined;
}

const conditions = [
  { value: '', label: texts.always },
  { value: 'acknowledged', label: texts.unlessAcknowledged },
  { value: 'read', label: texts.unlessRead },
  { value: 'sent', label: texts.unlessSent },
  { value: 'expression', label: texts.unlessExpression },
];
const keywords = new Set(['acknowledged', 'read', 'sent']);

export function StepsEditor({ path, draft, change, errors, channels, preview }: StepsProps) {
  const steps = draft.steps ?? [];
  const audiences = useAudiences(path);
  const names = [...new Set(channels.flatMap(({ slug, type }) => [slug, type]))];
  const set = (i: number, changes: Partial<DraftStep>) =>
    change({ steps: steps.map((step, n) => (n === i ? { ...step, ...changes } : step)) });
  const problem = errorAt(errors, 'steps') ?? errorAt(errors, 'give_up_after');
  return (
    <Stack gap="sm">
      <Box component="ol" className="steps editor" aria-label={texts.steps}>
        {steps.map((step, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a step is identified by its position
          <li key={i}>
            <span className="timeline-dot" aria-hidden>
              {i + 1}
            </span>
            <Stack gap={6}>
              <Group justify="space-between" wrap="nowrap" align="start">
                <Text size="sm" fw={500}>
                  {describeStep(step, i)}
                </Text>
                <Button
                  variant="subtle"
                  color="gray"
                  size="compact-xs"
                  aria-label={texts.removeStep(i + 1)}
                  disabled={steps.length === 1}
                  onClick={() => change({ steps: steps.filter((_, n) => n !== i) })}
                >
                  <IconTrash size={14} stroke={1.6} />
                </Button>
              </Group>
              <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs">
                <TextInput
                  label={i === 0 ? texts.afterTheTrigger : texts.afterThePreviousStep}
                  placeholder={i === 0 ? texts.immediately : '10m'}
                  value={step.after}
                  onChange={event => set(i, { after: event.currentTarget.value.trim() })}
                  error={errorAt(errors, `steps/${i}/after`)}
                />
                <MultiSelect
                  label={texts.channels}
                  data={[...new Set([...names, ...step.channels])]}
                  value={step.channels}
                  onChange={chosen => set(i, { channels: chosen })}
                  error={errorAt(errors, `steps/${i}/channels`, true)}
                />
                <Select
                  label={texts.condition}
                  data={conditions}
                  allowDeselect={false}
                  value={step.unless === undefined ? '' : keywords.has(step.unless) ? step.unless : 'expression'}
                  onChange={value =>
                    set(i, {
                      unless: value === '' ? undefined : value === 'expression' ? "context.severity == 'low'" : value!,
                    })
                  }
                />
                <Select
                  label={texts.recipients}
                  data={withOwn(audiences, step)}
                  value={audienceValue(step)}
                  clearable
                  clearButtonProps={{ 'aria-label': texts.clearRecipients }}
                  placeholder={texts.sameRecipients}
                  onChange={value => set(i, readValue(value))}
                  error={errorAt(errors, `steps/${i}/recipients`, true)}
                />
                <NumberInput
                  label={texts.numberOfRuns}
                  {...limitsOf('NewNotification', 'steps.repeat')}
                  value={step.repeat}
                  onChange={value => set(i, { repeat: Number(value) || 1 })}
                  error={errorAt(errors, `steps/${i}/repeat`)}
                />
              </SimpleGrid>
              <Checkbox
                size="xs"
                label={texts.roundRobin}
                description={texts.roundRobinHint}
                checked={step.roundRobin}
                onChange={event => set(i, { roundRobin: event.currentTarget.checked })}
              />
              {step.unless !== undefined && !keywords.has(step.unless) && (
                <TextInput
                  label={texts.expression}
                  classNames={{ input: 'mono' }}
                  value={step.unless}
                  onChange={event => set(i, { unless: event.currentTarget.value })}
                  error={errorAt(errors, `steps/${i}/unless`)}
                />
              )}
            </Stack>
          </li>
        ))}
      </Box>
      {problem && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {problem}
        </Text>
      )}
      <Group justify="space-between" align="end">
        <Button
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} stroke={1.6} />}
          onClick={() =>
            change({
              steps: [...steps, { after: '30m', unless: 'acknowledged', channels: [], repeat: 1, roundRobin: false }],
            })
          }
        >
          {texts.addStep}
        </Button>
        <TextInput
          label={texts.acknowledgementExpires}
          placeholder={texts.never}
          w={170}
          value={draft.acknowledgementExpires}
          error={errorAt(errors, 'acknowledgement_expires')}
          onChange={event => change({ acknowledgementExpires: event.currentTarget.value.trim() })}
        />
        <TextInput
          label={texts.giveUpAfter}
          placeholder="24h"
          w={140}
          value={draft.giveUpAfter}
          onChange={event => change({ giveUpAfter: event.currentTarget.value.trim() })}
        />
      </Group>
      <Checkbox
        size="xs"
        label={texts.ackEach}
        description={texts.ackEachHint}
        checked={draft.ackEach}
        onChange={event => change({ ackEach: event.currentTarget.checked })}
      />
      <StepTimeline steps={steps} preview={preview} />
    </Stack>
  );
}
