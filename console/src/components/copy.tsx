/** Text that is there to be copied. */
import { ActionIcon, Box, CopyButton, Group, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

export function CopyIcon({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={copied ? 'Copied' : label}>
            {copied ? <IconCheck size={14} stroke={1.8} /> : <IconCopy size={14} stroke={1.6} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** An identifier, an address: in one line, with its button. */
export function CopyText({ value, label = 'Copy' }: { value: string; label?: string }) {
  return (
    <Group component="span" gap={4} wrap="nowrap" display="inline-flex" maw="100%">
      <span className="mono" style={{ overflow: 'hidden', textOverflow: 'ellipsis' }}>
        {value}
      </span>
      <CopyIcon value={value} label={label} />
    </Group>
  );
}

/** A command line, a piece of code. */
export function CopyBlock({ value, label = 'Copy' }: { value: string; label?: string }) {
  return (
    <Box pos="relative" ta="left">
      <Box
        component="pre"
        className="card mono"
        tabIndex={0}
        aria-label={label}
        role="group"
        m={0}
        p="sm"
        pr={44}
        fz="xs"
        lh={1.6}
        style={{ overflowX: 'auto' }}
      >
        {value}
      </Box>
      <Box pos="absolute" top={7} right={7} bg="var(--card)">
        <CopyIcon value={value} label={label} />
      </Box>
    </Box>
  );
}
