/** Banners for occurrences that wait for an approval, with links to the pages where they are decided. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconShieldQuestion } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Hold } from '../api-types.ts';
import { TimeAgo } from '../components/time.tsx';
import { to, useOrg } from '../paths.ts';
import { texts } from '../texts/approvals.ts';

/** One banner per occurrence. */
export function HoldBanners({ holds }: { holds: Hold[] }) {
  return (
    <Stack gap="xs" mb="md">
      {holds.map(hold => (
        <HoldBanner key={`${hold.occurrence} ${hold.kind}`} hold={hold} />
      ))}
    </Stack>
  );
}

function HoldBanner({ hold }: { hold: Hold }) {
  const org = useOrg();
  const name = hold.event ?? texts.deletedEvent;
  const title = texts.waitsForApproval(name);
  return (
    <Alert color="orange" variant="light" p="xs" pl="sm" role="region" aria-label={title}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs" wrap="nowrap" align="flex-start" miw={0} flex={1}>
          <IconShieldQuestion size={17} stroke={1.8} aria-hidden style={{ flexShrink: 0, marginTop: 2 }} />
          <Text size="sm" c="var(--mantine-color-text)" component="div" style={{ overflowWrap: 'anywhere' }}>
            <Text component="span" inherit fw={600}>
              {title}.
            </Text>{' '}
            {describeCause(hold)}{' '}
            <Text component="span" inherit c="dimmed">
              <TimeAgo at={hold.expires_at} text={texts.expires} />
            </Text>
          </Text>
        </Group>
        <Button
          component={Link}
          to={to.occurrence(org, hold.occurrence)}
          variant="default"
          aria-label={texts.decideAbout(name)}
        >
          {texts.decide}
        </Button>
      </Group>
    </Alert>
  );
}

/** Says how many recipients there are, and how many there were before, or what became of the sample of a canary. */
export function describeCause({
  kind,
  explanation,
  recipients,
  counted,
  threshold,
  largest,
}: Pick<Hold, 'kind' | 'explanation' | 'recipients' | 'counted' | 'threshold' | 'largest'>) {
  if (kind === 'canary') return [texts.sampleStopped, ...explanation, texts.others(recipients, counted)].join(' ');
  const before = largest === null ? texts.neverSent : texts.largest(largest);
  return `${texts.recipients(recipients, counted)} ${texts.threshold(threshold)} ${before}`;
}
