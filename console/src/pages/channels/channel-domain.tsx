/** Checks the DNS records of the domains that an email channel sends from. */
import { Alert, Box, Group, Stack, Text } from '@mantine/core';
import { IconCheck, IconWorldSearch } from '@tabler/icons-react';
import type { DomainCheck, DomainFinding } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { CopyBlock, CopyText } from '../../components/copy.tsx';
import { Facts } from '../../components/facts.tsx';
import { Section } from '../../components/page.tsx';
import { Failure } from '../../components/states.tsx';
import { StateBadge } from '../../components/status.tsx';
import { texts } from '../../texts/channels.ts';
import { type ChannelScope, checkDomains } from './channel-api.ts';

export function ChannelDomain({ scope, channel }: { scope: ChannelScope; channel: string }) {
  const check = useAction({ run: () => checkDomains(scope, channel), silent: true });
  const run = () => check.mutate(undefined);
  return (
    <Section
      title={texts.sendingDomain}
      aside={
        <GuardedButton
          permission="channel:read"
          variant="default"
          size="xs"
          leftSection={<IconWorldSearch size={15} stroke={1.6} />}
          loading={check.isPending}
          onClick={run}
        >
          {check.data ? texts.checkAgain : texts.checkDomain}
        </GuardedButton>
      }
    >
      <Box aria-live="polite" aria-busy={check.isPending}>
        {check.isPending ? (
          <Text size="sm" c="dimmed" role="status">
            {texts.checkingDomain}
          </Text>
        ) : check.error ? (
          <Failure error={check.error} retry={run} />
        ) : check.data ? (
          <Results checks={check.data} />
        ) : (
          <Text size="sm" c="dimmed">
            {texts.domainHint}
          </Text>
        )}
      </Box>
    </Section>
  );
}

function Results({ checks }: { checks: DomainCheck[] }) {
  if (checks.length === 0) return <Text size="sm">{texts.noSenderAddress}</Text>;
  return (
    <Stack gap="lg">
      {checks.map(check => (
        <Domain key={check.domain} check={check} />
      ))}
    </Stack>
  );
}

function Domain({ check: { domain, checked, findings } }: { check: DomainCheck }) {
  const areas = checked.map(area => texts.domainAreas[area]).join(', ');
  return (
    <Stack gap="md">
      <Text fw={600}>{domain}</Text>
      {findings.every(({ severity }) => severity === 'info') && (
        <Alert color="teal" icon={<IconCheck size={18} />} title={texts.noDomainProblems}>
          {texts.domainAreasChecked(areas)}
        </Alert>
      )}
      {findings.map(finding => (
        <Finding key={`${finding.code} ${finding.message}`} finding={finding} />
      ))}
    </Stack>
  );
}

function Finding({ finding: { area, severity, message, record } }: { finding: DomainFinding }) {
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <StateBadge state={{ ...texts.severities[severity], meaning: '' }} />
        <Text size="sm" fw={500}>
          {texts.domainAreas[area]}
        </Text>
      </Group>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {message}
      </Text>
      {record && (
        <Stack gap={6} role="group" aria-label={texts.recordToPublish}>
          <Facts
            facts={[
              [texts.recordName, <CopyText key="name" value={record.name} label={texts.copyRecordName} />],
              [texts.type, record.type],
            ]}
          />
          <CopyBlock value={record.value} label={texts.copyRecordValue} />
        </Stack>
      )}
    </Stack>
  );
}
