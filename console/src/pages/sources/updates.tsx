/** What was reported to the senders of alerts, of one source or of one occurrence. */
import { Text } from '@mantine/core';
import type { SourceUpdate } from '../../api-types.ts';
import { Section } from '../../components/page.tsx';
import { RecordTable } from '../../components/record-table.tsx';
import type { State } from '../../components/statuses.ts';
import { texts } from '../../texts/sources.ts';

const colors = { done: 'teal', retrying: 'yellow', waiting: 'gray', failed: 'red' } as const;

export function SourceUpdates({ updates }: { updates: readonly SourceUpdate[] }) {
  if (updates.length === 0) return null;
  return (
    <Section title={texts.updates}>
      <Text size="sm" mb="sm">
        {texts.updatesHint}
      </Text>
      <RecordTable
        title={texts.updates}
        showsTitle={false}
        headings={[texts.updateAt, texts.updateOf, texts.updateOutcome]}
        rows={updates.map(({ source, key, occurrence, state, by, changed_at, status, attempts }) => {
          const last = attempts.at(-1);
          const isCurrent = last?.state === state;
          return {
            key: `${occurrence} ${source} ${key}`,
            at: changed_at,
            cause: (
              <>
                <Text component="span" display="block" size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {key}
                </Text>
                <Text component="span" display="block" size="xs" c="dimmed">
                  {texts.updateCauses[state](by)}
                </Text>
              </>
            ),
            state: stateOf(status === 'waiting' && isCurrent ? 'retrying' : status),
            detail: isCurrent ? last.detail : null,
          };
        })}
      />
    </Section>
  );
}

function stateOf(status: keyof typeof colors): State {
  return { name: texts.updateStates[status], color: colors[status], meaning: '' };
}
