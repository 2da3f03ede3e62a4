/** The files that were sent with the messages of an occurrence. */
import { Anchor, Group, Stack, Text } from '@mantine/core';
import { IconPaperclip } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Occurrence } from '../../api-types.ts';
import { Section } from '../../components/page.tsx';
import { useOrg } from '../../paths.ts';
import { read } from '../../queries.ts';
import { texts } from '../../texts/occurrences.ts';

export function Attachments({ occurrence: { identifier, status } }: { occurrence: Occurrence }) {
  const org = useOrg();
  const { data = [] } = useQuery({
    // Files with a URL are fetched while the messages are sent.
    ...read('/api/o/{org}/occurrence/{identifier}/attachments/', { path: { org, identifier } }, status),
  });
  if (data.length === 0) return null;
  return (
    <Section title={texts.attachments}>
      <Stack component="ul" gap={4} m={0} p={0} style={{ listStyle: 'none' }} aria-label={texts.attachments}>
        {data.map(({ id, name, bytes }) => (
          <Group key={id} component="li" gap="xs" wrap="nowrap">
            <IconPaperclip size={14} stroke={1.6} aria-hidden style={{ flexShrink: 0 }} />
            <Anchor
              href={`/api/o/${encodeURIComponent(org)}/occurrence/${identifier}/attachments/${id}/`}
              download={name}
              size="sm"
              style={{ overflowWrap: 'anywhere' }}
            >
              {name}
            </Anchor>
            <Text size="sm" c="dimmed" className="numbers" style={{ whiteSpace: 'nowrap' }}>
              {describeSize(bytes)}
            </Text>
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

function describeSize(bytes: number): string {
  if (bytes < 1_000) return texts.bytes(bytes);
  return bytes < 999_500 ? texts.kb(Math.round(bytes / 1_000)) : texts.mb((bytes / 1_000_000).toFixed(1));
}
