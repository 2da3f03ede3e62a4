/** Read-only JSON: indented, colored, with a copy button. */
import { Box, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { texts } from '../texts/common.ts';
import { CopyIcon } from './copy.tsx';

const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|true|false|null)/g;

export function JsonView({ value, label, maxHeight = 420 }: { value: unknown; label: string; maxHeight?: number }) {
  const text = JSON.stringify(value, null, 2) ?? 'null';
  if (value === null || value === undefined || text === '{}') {
    return (
      <Text c="dimmed" size="sm">
        {texts.empty}
      </Text>
    );
  }
  return (
    <Box pos="relative">
      <Box
        component="pre"
        className="mono"
        // Long values scroll, and a scrolling area must be reachable by keyboard.
        tabIndex={0}
        role="group"
        aria-label={label}
        m={0}
        pr={32}
        fz="xs"
        lh={1.6}
        mah={maxHeight}
        style={{ overflow: 'auto' }}
      >
        {highlight(text)}
      </Box>
      <Box pos="absolute" top={0} right={0}>
        <CopyIcon value={text} label={texts.copyItem(label.toLowerCase())} />
      </Box>
    </Box>
  );
}

function highlight(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let last = 0;
  for (const match of text.matchAll(tokens)) {
    const [whole, string, colon] = match;
    parts.push(text.slice(last, match.index));
    const kind = string ? (colon ? 'json-key' : 'json-text') : 'json-other';
    parts.push(
      <span key={match.index} className={kind}>
        {string ?? whole}
      </span>,
      colon ?? '',
    );
    last = match.index + whole.length;
  }
  parts.push(text.slice(last));
  return parts;
}
