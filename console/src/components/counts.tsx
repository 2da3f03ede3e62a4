/** Delivery counts by status, as a colored bar and as numbers. */
import { Anchor, Box, Group, Text, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { texts } from '../texts/common.ts';
import { deliveryStates, fillOf, statusOrder } from './statuses.ts';

export type Counts = Partial<Record<string, number>>;

const number = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function count(value: number): string {
  return number.format(value);
}

export function compact(value: number): string {
  return value < 10_000 ? number.format(value) : short.format(value);
}

export function entriesOf(counts: Counts): [status: string, count: number][] {
  return statusOrder.map((status): [string, number] => [status, counts[status] ?? 0]).filter(([, n]) => n > 0);
}

export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce<number>((sum, n) => sum + (n ?? 0), 0);
}

export function fillColor(status: string): string {
  const [name, shade] = fillOf(status).split('.');
  return `var(--mantine-color-${name}-${shade})`;
}

/** Returns the label of a status within a sentence. */
function labelOf(status: string): string {
  return (deliveryStates[status]?.name ?? status).toLowerCase();
}

export function describe(counts: Counts): string {
  const entries = entriesOf(counts);
  return entries.length > 0
    ? entries.map(([status, n]) => `${count(n)} ${labelOf(status)}`).join(', ')
    : texts.noDeliveries;
}

/** A bar of fixed width. Its accessible name is the text of `describe`. */
export function CountsBar({ counts, height = 6 }: { counts: Counts; height?: number }) {
  const total = totalOf(counts);
  return (
    <Tooltip label={describe(counts)}>
      <Box
        role="img"
        aria-label={describe(counts)}
        h={height}
        w="100%"
        display="flex"
        style={{ borderRadius: height, overflow: 'hidden', gap: 1, background: 'var(--line)' }}
      >
        {entriesOf(counts).map(([status, n]) => (
          <span
            key={status}
            style={{
              width: `${(n / total) * 100}%`,
              minWidth: 2,
              background: fillColor(status),
              transition: 'width 0.4s',
            }}
          />
        ))}
      </Box>
    </Tooltip>
  );
}

/** Each number leads to the deliveries it counts, if `linkTo` returns a link. */
export function CountsLegend({ counts, linkTo }: { counts: Counts; linkTo?: (status: string) => string | undefined }) {
  return (
    <Group gap="4px 16px">
      {entriesOf(counts).map(([status, n]) => (
        <Group key={status} gap={6} wrap="nowrap">
          <span className="dot" style={{ '--dot': fillColor(status) } as React.CSSProperties} />
          <Part link={linkTo?.(status)}>
            <span className="numbers" style={{ fontWeight: 600 }}>
              {count(n)}
            </span>{' '}
            <Text component="span" c="dimmed" inherit>
              {labelOf(status)}
            </Text>
          </Part>
        </Group>
      ))}
    </Group>
  );
}

function Part({ link, children }: { link: string | undefined; children: ReactNode }) {
  return link ? (
    <Anchor component={Link} to={link} size="sm" c="var(--mantine-color-text)" preventScrollReset>
      {children}
    </Anchor>
  ) : (
    <Text size="sm">{children}</Text>
  );
}
