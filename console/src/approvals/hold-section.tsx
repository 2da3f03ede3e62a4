/** What an occurrence would send if it is approved, and the buttons that decide about it. */
import { Group, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { IconBan, IconCheck } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useSearchParams } from 'react-router';
import type { HoldDetails, Occurrence } from '../api-types.ts';
import { GuardedButton } from '../components/actions.tsx';
import { count } from '../components/counts.tsx';
import { Section } from '../components/page.tsx';
import { duration, TimeAgo } from '../components/time.tsx';
import { SimulatedDeliveries } from '../events/simulation-view.tsx';
import { useOrg } from '../paths.ts';
import { texts } from '../texts/approvals.ts';
import { ApprovalDialog, RejectionDialog } from './decide.tsx';
import { describeCause } from './hold-banners.tsx';
import { useHold } from './use-holds.ts';

/** Renders nothing for an occurrence that was never held. */
export function HoldSection({ occurrence }: { occurrence: Pick<Occurrence, 'identifier' | 'hold'> }) {
  const hold = useHold(occurrence.identifier, occurrence.hold !== null);
  if (!hold) return null;
  const isOpen = hold.state === 'counting' || hold.state === 'held';
  const isCanary = hold.kind === 'canary';
  return (
    <Section
      title={isCanary ? texts.canary : texts.approval}
      aside={isOpen && <TimeAgo at={hold.expires_at} text={texts.expires} />}
    >
      <Stack gap="sm">
        <Text size="sm">
          {isOpen ? describeCause(hold) : describeDecision(hold)}{' '}
          {hold.triggered_by && texts.triggeredBy(hold.triggered_by)}
        </Text>
        {isOpen && <Undecided hold={hold} />}
      </Stack>
    </Section>
  );
}

function describeDecision({ kind, state, decided_by, note, per_second, explanation }: HoldDetails): string {
  const isCanary = kind === 'canary';
  const name = (isCanary && texts.canaryStates[state]) || (texts.states[state] ?? state);
  const by = decided_by ? texts.decidedBy(name, decided_by) : name;
  return [`${note ? `${by}: ${note}` : by}.`, per_second !== null && texts.atRate(per_second), ...explanation]
    .filter(Boolean)
    .join(' ');
}

/** Returns which dialog is open. A link in a mail asks for one. */
function useDecision() {
  const [search, setSearch] = useSearchParams();
  const asked = search.get('decide');
  const [decision, decide] = useState(asked);
  useEffect(() => {
    if (asked === null) return;
    decide(asked);
    setSearch(
      rest => {
        rest.delete('decide');
        return rest;
      },
      { replace: true },
    );
  }, [asked, setSearch]);
  return [decision, decide] as const;
}

function Undecided({ hold }: { hold: HoldDetails }) {
  const org = useOrg();
  const [decision, decide] = useDecision();
  const close = () => decide(null);
  const { channels, left_out, samples } = hold;
  return (
    <>
      <Text size="sm">
        {hold.state === 'counting'
          ? texts.counting
          : hold.kind === 'canary'
            ? texts.canaryExplanation
            : texts.explanation}
      </Text>
      <Group gap="xs">
        <GuardedButton
          permission="occurrence:approve"
          leftSection={<IconCheck size={14} stroke={1.6} />}
          onClick={() => decide('approve')}
        >
          {texts.approve}
        </GuardedButton>
        <GuardedButton
          permission="occurrence:approve"
          variant="default"
          leftSection={<IconBan size={14} stroke={1.6} />}
          onClick={() => decide('reject')}
        >
          {texts.reject}
        </GuardedButton>
      </Group>
      {decision === 'approve' && <ApprovalDialog org={org} hold={hold} close={close} />}
      {decision === 'reject' && <RejectionDialog org={org} hold={hold} close={close} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        {channels.length > 0 && (
          <Counts
            label={texts.byChannel}
            heads={[texts.channel, texts.messages, texts.duration]}
            rows={channels.map(({ channel, messages, seconds }) => [
              channel,
              count(messages),
              seconds === null ? texts.asFastAsPossible : duration(seconds),
            ])}
          />
        )}
        {left_out.length > 0 && (
          <Counts
            label={texts.leftOutBy}
            heads={[texts.leftOut, texts.messages]}
            rows={left_out.map(({ explanation, messages }) => [explanation, count(messages)])}
          />
        )}
      </SimpleGrid>
      {samples.length > 0 && (
        <Stack gap={6}>
          <Text size="sm" fw={500}>
            {texts.samples}
          </Text>
          <SimulatedDeliveries deliveries={samples} />
        </Stack>
      )}
    </>
  );
}

function Counts({ label, heads, rows }: { label: string; heads: string[]; rows: string[][] }) {
  return (
    <Table aria-label={label} verticalSpacing={4} fz="sm">
      <Table.Thead>
        <Table.Tr>
          {heads.map(head => (
            <Table.Th key={head}>{head}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(cells => (
          <Table.Tr key={cells[0]}>
            {cells.map((cell, i) => (
              <Table.Td key={heads[i]} className={i > 0 ? 'numbers' : undefined}>
                {cell}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
