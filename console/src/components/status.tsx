/** The badge of a status or an outcome. */
import { Badge, Tooltip } from '@mantine/core';
import { deliveryStatuses, plainStyle, type StatusStyle } from './statuses.ts';

export function StatusBadge({
  status,
  styles = deliveryStatuses,
}: {
  status: string;
  styles?: Record<string, StatusStyle>;
}) {
  const { name, color, meaning, moving } = styles[status] ?? plainStyle;
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
