/** Where an occurrence or a delivery stands: one colour and one word each, the same everywhere. */
import { Badge, Tooltip } from '@mantine/core';
import { texts } from '../texts/common.ts';

interface Look {
  /** In badges. */
  name?: string;
  /** Of Mantine's palette. */
  color: string;
  /** In charts and bars. */
  fill: string;
  meaning: string;
  moving?: boolean;
}

export const deliveryLooks: Record<string, Look> = {
  sent: { name: texts.sent, color: 'teal', fill: 'teal.7', meaning: texts.acceptedByTheProvider },
  pending: { name: texts.pending, color: 'gray', fill: 'gray.4', meaning: texts.waitingToBeSent, moving: true },
  sending: { name: texts.sending, color: 'blue', fill: 'blue.5', meaning: texts.beingSentToTheProvider, moving: true },
  retrying: {
    name: texts.retrying,
    color: 'yellow',
    fill: 'yellow.5',
    meaning: texts.failedWillBeTriedAgain,
    moving: true,
  },
  failed: { name: texts.failed, color: 'red', fill: 'red.7', meaning: texts.failedForGoodSeeTheReason },
  unknown: { name: texts.unknown, color: 'orange', fill: 'orange.5', meaning: texts.mayHaveBeenSentTheResponse },
  suppressed: { name: texts.suppressed, color: 'gray', fill: 'gray.5', meaning: texts.notSentOnPurposeSeeThe },
  cancelled: { name: texts.cancelled, color: 'gray', fill: 'gray.6', meaning: texts.cancelledBySomeone },
  expired: { name: texts.expired, color: 'gray', fill: 'gray.7', meaning: texts.notSentInTime },
};

/** How an occurrence stands, in one word. */
export const outcomeLooks: Record<string, Look> = {
  scheduled: { name: texts.scheduled, color: 'violet', fill: 'violet.5', meaning: texts.willBeSentLater },
  held: { name: texts.held, color: 'yellow', fill: 'yellow.5', meaning: texts.waitsForAPauseToEnd },
  expanding: { name: texts.resolving, color: 'blue', fill: 'blue.5', meaning: texts.resolvingRecipients, moving: true },
  sending: { name: texts.sending, color: 'blue', fill: 'blue.5', meaning: texts.sendingMessages, moving: true },
  sent: { name: texts.sent, color: 'teal', fill: 'teal.7', meaning: texts.allMessagesWereSent },
  partly_failed: { name: texts.partlyFailed, color: 'orange', fill: 'orange.5', meaning: texts.someMessagesFailed },
  failed: { name: texts.failed, color: 'red', fill: 'red.7', meaning: texts.noMessageWasSent },
  nobody: { name: texts.nobody, color: 'gray', fill: 'gray.5', meaning: texts.nobodyToNotify },
  suppressed: { name: texts.suppressed, color: 'gray', fill: 'gray.5', meaning: texts.notSentOnPurpose },
  cancelled: { name: texts.cancelled, color: 'gray', fill: 'gray.6', meaning: texts.cancelledBySomeone },
  expired: { name: texts.expired, color: 'gray', fill: 'gray.7', meaning: texts.notSentInTime },
  escalating: {
    name: texts.escalating,
    color: 'orange',
    fill: 'orange.5',
    meaning: texts.moreStepsToCome,
    moving: true,
  },
  acknowledged: { name: texts.acknowledged, color: 'teal', fill: 'teal.7', meaning: texts.somebodyAnswered },
  resolved: { name: texts.resolved, color: 'teal', fill: 'teal.7', meaning: texts.itIsOver },
  unacknowledged: { name: texts.unacknowledged, color: 'red', fill: 'red.7', meaning: texts.nobodyAnswered },
};

const plain: Look = { color: 'gray', fill: 'gray.5', meaning: '' };

export function lookOf(status: string): Look {
  return deliveryLooks[status] ?? plain;
}

/** The order in which bars and legends name them. */
export const statusOrder = [
  'sent',
  'sending',
  'pending',
  'retrying',
  'failed',
  'unknown',
  'suppressed',
  'cancelled',
  'expired',
];

export function StatusBadge({ status, looks = deliveryLooks }: { status: string; looks?: Record<string, Look> }) {
  const { name, color, meaning, moving } = looks[status] ?? plain;
  const dot = `light-dark(var(--mantine-color-${color}-7), var(--mantine-color-${color}-4))`;
  return (
    <Tooltip label={meaning} disabled={!meaning}>
      <Badge
        variant="default"
        size="md"
        tt="none"
        fw={500}
        leftSection={<span className={moving ? 'dot live' : 'dot'} style={{ '--dot': dot } as React.CSSProperties} />}
        miw="max-content"
        style={{ cursor: 'inherit' }}
      >
        {name ?? sentence(status)}
      </Badge>
    </Tooltip>
  );
}

/** `not sent` becomes `Not sent`. */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
