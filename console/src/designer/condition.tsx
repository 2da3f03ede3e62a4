/** The filter of a notification, evaluated on the sample context as it is typed. */
import { Stack, Text, Textarea } from '@mantine/core';
import type { Preview } from '../api-types.ts';
import { fill } from '../components/fill.tsx';
import { Section } from '../components/page.tsx';
import type { EventPath, Sample } from '../events/sample.ts';
import { SampleEditor, TakeRecent } from '../events/sample-editor.tsx';
import { texts } from '../texts/designer.ts';
import type { Draft } from './draft.ts';
import { errorAt } from './errors.ts';

interface ConditionProps {
  path: EventPath;
  sample: Sample;
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  errors: Record<string, string[]>;
  result: Preview['filter'] | undefined;
}

export function Condition({ path, sample, draft, change, errors, result }: ConditionProps) {
  const failed = result && 'error' in result ? result.error : undefined;
  return (
    <Section title={texts.filter} aside={<TakeRecent path={path} sample={sample} />}>
      <Stack gap="sm">
        <Textarea
          label={texts.condition}
          description={texts.conditionHint}
          classNames={{ input: 'mono' }}
          autosize
          minRows={1}
          maxRows={6}
          value={draft.filter}
          onChange={event => change({ filter: event.currentTarget.value })}
          placeholder="amount > `100` && country == 'DE'"
          error={errorAt(errors, 'filter') ?? failed}
        />
        {result && 'matches' in result && (
          <Text size="sm" role="status">
            {fill(result.matches ? texts.sampleIsSent : texts.sampleIsNotSent, {
              value: <span className="mono">{short(result.value)}</span>,
            })}
          </Text>
        )}
        <div>
          <Text size="sm" fw={500}>
            {texts.sampleContext}
          </Text>
          <Text size="xs" c="dimmed" mb={4}>
            {texts.sampleContextHint}
          </Text>
          <SampleEditor sample={sample} />
        </div>
      </Stack>
    </Section>
  );
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
