import { Box, Skeleton, Text, Tooltip } from '@mantine/core';

interface TileProps {
  label: string;
  /** Undefined while loading. */
  value: string | undefined;
  note?: string | undefined;
  /** What exactly is measured, as a tooltip of the label. */
  hint?: string;
  tone?: 'bad' | 'warn' | undefined;
}

const tones = { bad: 'var(--mantine-color-error)', warn: 'light-dark(#8a5a00, #f0c36b)' };

export function Tile({ label, value, note, hint, tone }: TileProps) {
  return (
    <Box className="card" px="md" py="sm" component="dl" m={0}>
      <Text component="dt" size="xs" c="dimmed">
        {hint ? (
          <Tooltip label={hint} multiline maw={300} events={{ hover: true, focus: true, touch: true }}>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the tooltip must open with the keyboard */}
            <span className="tip hint" tabIndex={0}>
              {label}
            </span>
          </Tooltip>
        ) : (
          label
        )}
      </Text>
      <Box component="dd" m={0}>
        {value === undefined ? (
          <Skeleton height={22} width={64} my={6} />
        ) : (
          <Text className="numbers" fz={24} fw={600} lh={1.35} c={tone && tones[tone]}>
            {value}
          </Text>
        )}
        <Text size="xs" c="dimmed" className="numbers">
          {note ?? '\u00a0'}
        </Text>
      </Box>
    </Box>
  );
}
