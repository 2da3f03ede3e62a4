/** Preview of an email on desktop and mobile, side by side, and as plain text. */
import { Box, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useState } from 'react';
import type { Message } from '../api-types.ts';
import { texts } from '../texts/designer.ts';
import { ScaledFrame } from './scaled-frame.tsx';

const wide = 680;
const narrow = 360;
const gap = 16;
const bothFrom = 780;

export function EmailPreview({ content }: { content: Message }) {
  const [chosen, setForm] = useState<string>();
  const { ref, width } = useElementSize();
  const room = width || 560;
  // Uses the available width; both views are side by side only if both are readable.
  const form = chosen ?? (room < 480 ? 'narrow' : room < bothFrom ? 'wide' : 'both');
  const both = Math.min(1, (room - gap) / (wide + narrow));
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {content.title || texts.noSubject}
        </Text>
        <SegmentedControl
          size="xs"
          value={form}
          onChange={setForm}
          aria-label={texts.emailView}
          data={[
            { value: 'both', label: texts.both },
            { value: 'wide', label: texts.desktop },
            { value: 'narrow', label: texts.mobile },
            { value: 'text', label: texts.text },
          ]}
        />
      </Group>
      <Box ref={ref}>
        {form === 'text' ? (
          <Text
            component="pre"
            size="sm"
            m={0}
            ff="inherit"
            style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
          >
            {content.text}
          </Text>
        ) : (
          <Group gap={gap} align="flex-start" wrap="nowrap" justify={form === 'narrow' ? 'center' : undefined}>
            {form !== 'narrow' && (
              <ScaledFrame
                html={content.html ?? ''}
                label={texts.emailOnDesktop}
                width={wide}
                scale={form === 'both' ? both : Math.min(1, room / wide)}
              />
            )}
            {form !== 'wide' && (
              <ScaledFrame
                html={content.html ?? ''}
                label={texts.emailOnMobile}
                width={narrow}
                scale={form === 'both' ? both : Math.min(1, room / narrow)}
              />
            )}
          </Group>
        )}
      </Box>
    </Stack>
  );
}
