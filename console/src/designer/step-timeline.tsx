/** What the steps mean for the person that the previews are written to, if nobody answers. */
import { Box, Text } from '@mantine/core';
import type { Preview } from '../api-types.ts';
import { reasonText } from '../components/reason.tsx';
import { clockAndDay } from '../components/time.tsx';
import { texts } from '../texts/designer.ts';
import type { DraftStep } from './draft.ts';
import { listRuns } from './step-words.ts';

type Run = NonNullable<Preview['timeline']>[number];

interface StepTimelineProps {
  steps: readonly DraftStep[];
  /** Of what was typed a moment ago. */
  preview: Preview | undefined;
}

export function StepTimeline({ steps, preview }: StepTimelineProps) {
  const runs = listRuns(steps);
  const known = preview?.timeline?.length === runs.length ? preview.timeline : undefined;
  return (
    <Box>
      <Text size="sm" c="dimmed" id="step-timeline">
        {known ? texts.forIfNobodyAnswers(preview!.user) : texts.ifNobodyAnswers}
      </Text>
      <ol className="step-timeline" aria-labelledby="step-timeline">
        {runs.map(({ number, clock, channels }) => (
          <li key={number}>
            <span className="mono">{clock}</span>
            <span>{known ? describeRun(known[number - 1]!) : channels.join(', ')}</span>
          </li>
        ))}
      </ol>
    </Box>
  );
}

function describeRun({ left_out, deliveries }: Run): string {
  if (left_out) return texts.notTold(reasonText(left_out));
  if (deliveries.length === 0) return texts.noChannelOfThese;
  return deliveries.map(describeDelivery).join(' · ');
}

function describeDelivery({ channel, reason, due_at }: Run['deliveries'][number]): string {
  if (!reason) return channel;
  return due_at ? texts.heldUntil(channel, clockAndDay(due_at)) : texts.notBy(channel, reasonText(reason));
}
