/** A badge with a colored dot and an optional explanation in a tooltip. */
import { Badge, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';

interface MarkProps {
  /** A color of Mantine's palette. */
  color: string;
  children: ReactNode;
  meaning?: string;
}

export function Mark({ color, children, meaning }: MarkProps) {
  const dot = `light-dark(var(--mantine-color-${color}-7), var(--mantine-color-${color}-4))`;
  return (
    <Tooltip label={meaning} disabled={!meaning} multiline maw={280}>
      <Badge
        variant="default"
        size="md"
        tt="none"
        fw={500}
        leftSection={<span className="dot" style={{ '--dot': dot } as React.CSSProperties} />}
      >
        {children}
      </Badge>
    </Tooltip>
  );
}
