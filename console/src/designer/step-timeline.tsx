/** Timeline of the steps for the user of the previews, if no one responds. */

import { Box, Text } from '@mantine/core';
import type { Preview } from '../api-types.ts';
import { reasonText } from '../components/statuses.ts';
import { clockAndDay } from '../components/time.tsx';
import { texts } from '../texts/designer.ts';
import { dotted } from '../texts/isolated.ts';
import { listRuns } from './describe-steps.ts';
import type { DraftStep } from './draft.ts';

type Run = NonNullable<Preview['timeline']>[number];

interface StepTimelineProps {
  steps: readonly DraftStep[];
  /** May be older than what was typed last. */
  preview: Preview | undefined;
}

export function StepTimeline({ steps, preview }: StepTimelineProps) {
  const runs = listRuns(steps);
  const timeline = preview?.timeline?.length === runs.length ? preview.timeline : undefined;
  return (
    <Box>
      <Text size="sm" c="dimmed" id="step-timeline">
        {timeline ? texts.forUserIfNoOneResponds(preview!.user) : texts.ifNoOneResponds}
      </Text>
      <ol className="step-timeline" aria-labelledby="step-timeline">
        {runs.map(({ number, clock, channels }) => (
          <li key={number}>
            <span className="mono">{clock}</span>
            <span>{timeline ? describeRun(timeline[number - 1]!) : channels.join(', ')}</span>
          </li>
        ))}
      </ol>
    </Box>
  );
}

function describeRun({ skip_reason, deliveries }: Run): string {
  if (skip_reason) return texts.notARecipient(reasonText(skip_reason));
  if (deliveries.length === 0) return texts.noMatchingChannel;
  return dotted(...deliveries.map(describeDelivery));
}

function describeDelivery({ channel, reason, due_at }: Run['deliveries'][number]): string {
  if (!reason) return channel;
  return due_at ? texts.heldUntil(channel, clockAndDay(due_at)) : texts.notVia(channel, reasonText(reason));
}
