/** Where an occurrence or a delivery stands: one colour and one word each, the same everywhere. */
import { Badge, Tooltip } from '@mantine/core';

interface Look {
  /** Of Mantine's palette. */
  color: string;
  /** In charts and bars. */
  fill: string;
  meaning: string;
  moving?: boolean;
}

export const deliveryLooks: Record<string, Look> = {
  sent: { color: 'teal', fill: 'teal.7', meaning: 'The provider took it.' },
  pending: { color: 'gray', fill: 'gray.4', meaning: 'Waits for its turn.', moving: true },
  sending: { color: 'blue', fill: 'blue.5', meaning: 'Is being handed to the provider.', moving: true },
  retrying: { color: 'yellow', fill: 'yellow.5', meaning: 'Failed for now and is tried again.', moving: true },
  failed: { color: 'red', fill: 'red.7', meaning: 'Given up, with the reason.' },
  unknown: { color: 'orange', fill: 'orange.5', meaning: 'May have been sent: nobody can tell.' },
  suppressed: { color: 'gray', fill: 'gray.5', meaning: 'Deliberately not sent, with the reason.' },
  cancelled: { color: 'gray', fill: 'gray.6', meaning: 'Stopped by somebody.' },
  expired: { color: 'gray', fill: 'gray.7', meaning: 'Was too late to send.' },
};

export const occurrenceLooks: Record<string, Look> = {
  accepted: { color: 'gray', fill: 'gray.5', meaning: 'Stored for good; its turn comes.', moving: true },
  expanding: { color: 'blue', fill: 'blue.5', meaning: 'Recipients are being worked out.', moving: true },
  sending: { color: 'blue', fill: 'blue.5', meaning: 'Messages are on their way.', moving: true },
  completed: { color: 'teal', fill: 'teal.7', meaning: 'Every message has its outcome.' },
};

const plain: Look = { color: 'gray', fill: 'gray.5', meaning: '' };

export function lookOf(status: string): Look {
  return deliveryLooks[status] ?? occurrenceLooks[status] ?? plain;
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
  const { color, meaning, moving } = looks[status] ?? plain;
  const dot = `light-dark(var(--mantine-color-${color}-7), var(--mantine-color-${color}-4))`;
  return (
    <Tooltip label={meaning} disabled={!meaning}>
      <Badge
        variant="default"
        size="md"
        tt="none"
        fw={500}
        leftSection={<span className={moving ? 'dot live' : 'dot'} style={{ '--dot': dot } as React.CSSProperties} />}
        style={{ cursor: 'inherit' }}
      >
        {status}
      </Badge>
    </Tooltip>
  );
}
