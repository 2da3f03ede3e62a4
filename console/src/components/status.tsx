/** The badge of a delivery's or an occurrence's state, with its sentence in a tooltip. */
import { Badge, Tooltip } from '@mantine/core';
import type { Delivery, OccurrenceSummary } from '../api-types.ts';
import {
  deliveryStates,
  dotColor,
  occurrenceStates,
  plainState,
  type State,
  sentenceOf,
  withTimes,
} from './statuses.ts';
import { clockAndDay } from './time.tsx';

export function DeliveryBadge({
  delivery,
}: {
  delivery: Pick<Delivery, 'state' | 'status' | 'reason' | 'next_attempt_at' | 'retry_until'>;
}) {
  const { reason, next_attempt_at: until, retry_until: end } = delivery;
  const state = deliveryStates[delivery.state] ?? plainState(delivery.status);
  return <StateBadge state={state} sentence={sentenceOf(state, { reason, until, end }, clockAndDay)} />;
}

export type ShownOccurrence = Pick<OccurrenceSummary, 'state' | 'outcome' | 'summary'>;

export function OccurrenceBadge({ occurrence }: { occurrence: ShownOccurrence }) {
  return <StateBadge state={occurrenceState(occurrence)} sentence={occurrenceSentence(occurrence)} />;
}

function occurrenceState({ state, outcome }: Pick<OccurrenceSummary, 'state' | 'outcome'>): State {
  return occurrenceStates[state] ?? plainState(outcome);
}

/** Returns the summary with its times in the viewer's time zone. */
export function occurrenceSentence({ summary }: Pick<OccurrenceSummary, 'summary'>): string {
  return withTimes(summary, clockAndDay);
}

export function StateBadge({
  state: { name, color, meaning, moving },
  sentence = meaning,
}: {
  state: State;
  sentence?: string;
}) {
  const dot = dotColor({ color });
  return (
    <Tooltip label={sentence} disabled={!sentence}>
      <Badge
        className="tip"
        variant="default"
        size="md"
        tt="none"
        fw={500}
        leftSection={<span className={moving ? 'dot live' : 'dot'} style={{ '--dot': dot } as React.CSSProperties} />}
        miw="max-content"
        style={{ cursor: 'inherit' }}
      >
        {name}
      </Badge>
    </Tooltip>
  );
}
