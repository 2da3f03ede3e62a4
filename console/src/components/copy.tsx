/** Texts with a copy button. */
import { ActionIcon, Box, CopyButton, Group, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { texts } from '../texts/common.ts';
import { Breakable } from './breakable.tsx';

export function CopyIcon({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? texts.copied : label}>
          <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={copied ? texts.copied : label}>
            {copied ? <IconCheck size={14} stroke={1.8} /> : <IconCopy size={14} stroke={1.6} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** An identifier or address on one line with a copy button. */
export function CopyText({ value, label = texts.copy }: { value: string; label?: string }) {
  return (
    <Group component="span" gap={4} wrap="nowrap" display="inline-flex" maw="100%">
      <span className="mono" style={{ overflow: 'hidden', textOverflow: 'ellipsis' }}>
        <Breakable text={value} />
      </span>
      <CopyIcon value={value} label={label} />
    </Group>
  );
}

/** A command or code sample. The copy button is beside the scrolling area and covers nothing. */
/** `wraps`: long lines are broken anywhere, instead of being scrolled. */
export function CopyBlock({ value, label = texts.copy, wraps }: { value: string; label?: string; wraps?: boolean }) {
  return (
    <Group className="card" gap={0} wrap="nowrap" align="flex-start" ta="left">
      <Box
        component="pre"
        className="mono"
        tabIndex={0}
        aria-label={label}
        role="group"
        m={0}
        p="sm"
        fz="xs"
        lh={1.6}
        flex={1}
        miw={0}
        style={wraps ? { whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' } : { overflowX: 'auto' }}
      >
        {value}
      </Box>
      <Box p={7}>
        <CopyIcon value={value} label={label} />
      </Box>
    </Group>
  );
}
