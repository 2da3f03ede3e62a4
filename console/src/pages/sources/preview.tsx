/** What the rules in the form make of a payload, before they are saved. */
import { Box, Group, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, explain, take } from '../../api.ts';
import type { SourcePreview } from '../../api-types.ts';
import { CodeField } from '../../editor/code.tsx';
import { ask, read } from '../../queries.ts';
import { texts as incidents } from '../../texts/incidents.ts';
import { texts } from '../../texts/sources.ts';
import { AlertState, SeverityMark } from '../incidents/marks.tsx';
import type { SourcePath } from './source-path.ts';

interface PreviewProps {
  path: SourcePath;
  /** As it would be saved; undefined while it cannot be read. */
  rules: Record<string, unknown> | undefined;
}

const url = '/api/o/{org}/p/{prj}/a/{app}/preview-source/';
const payloads = '/api/o/{org}/p/{prj}/a/{app}/sources/{source}/payloads/';

export function Preview({ path, rules }: PreviewProps) {
  const { source, ...application } = path;
  const { data: [last] = [] } = useQuery(read(payloads, { path, query: { limit: 1 } } as never)) as {
    data?: { id: string; bytes: number }[];
  };
  const { data: stored } = useQuery({
    ...read(`${payloads}{payload}/`, { path: { ...path, payload: last?.id ?? '' } }),
    enabled: last !== undefined,
  });
  const [own, setOwn] = useState<string>();
  const body = own ?? stored?.body ?? texts.sample;
  // With its path and headers, if nothing was changed.
  const given = own === undefined && stored ? { payload: stored.id } : { request: { body } };
  const [request] = useDebouncedValue(rules && { source: { slug: source, ...rules }, ...given }, 400);
  const { data, error } = useQuery({
    ...ask(url, { application, request }, signal =>
      take(api.POST(url, { params: { path: application }, body: request as never, signal })),
    ),
    enabled: request !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <Stack gap="sm" role="region" aria-label={texts.preview}>
      <CodeField
        label={texts.payloadToTry}
        description={stored && own === undefined ? texts.lastPayload : texts.anyPayload}
        language="json"
        minHeight={140}
        maxHeight={300}
        value={body}
        onChange={text => text !== body && setOwn(text)}
      />
      <Text size="sm" fw={600}>
        {texts.result}
      </Text>
      {error && (
        <Text size="sm" c="var(--mantine-color-error)" role="status">
          {explain(error)}
        </Text>
      )}
      {!error && data && <Result preview={data} />}
    </Stack>
  );
}

function Result({ preview: { error, note, total, alerts } }: { preview: SourcePreview }) {
  if (error !== null)
    return (
      <Text size="sm" c="var(--mantine-color-error)" role="status">
        {error}
      </Text>
    );
  return (
    <Stack gap="xs" role="status">
      {total === 0 && <Text size="sm">{texts.noAlerts}</Text>}
      {note && <Text size="sm">{note}</Text>}
      {alerts.map(alert => (
        <Box key={alert.at} className="card" p="sm">
          <Group gap="xs" justify="space-between">
            <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
              {alert.title ?? alert.key ?? alert.at}
            </Text>
            <Group gap="xs">
              <SeverityMark severity={alert.severity} />
              {alert.state && <AlertState state={alert.state} />}
            </Group>
          </Group>
          <Text
            size="xs"
            c={alert.outcome === 'rejected' ? 'var(--mantine-color-error)' : 'dimmed'}
            style={{ overflowWrap: 'anywhere' }}
          >
            {alert.outcome === 'routed'
              ? texts.routed(alert.event ?? '', alert.key ?? '', alert.dedup_key ?? '')
              : `${texts.outcomes[alert.outcome] ?? alert.outcome}: ${alert.error ?? ''}`}
          </Text>
        </Box>
      ))}
      {total > alerts.length && <Text size="xs">{texts.moreAlerts(incidents.members(total - alerts.length))}</Text>}
    </Stack>
  );
}
