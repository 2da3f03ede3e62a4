/** Version history: lists the versions, compares one with the draft and restores it. */
import { Badge, Box, Button, Drawer, Group, Skeleton, Stack, Text, UnstyledButton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type QueryKey, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { texts } from '../texts/common.ts';
import { GuardedButton } from './actions.tsx';
import { Empty, Failure } from './states.tsx';
import { TimeAgo } from './time.tsx';
import type { List } from './use-list.ts';

const Diff = lazy(() => import('../editor/diff.tsx'));

interface Summary {
  version: number;
  created_at: string;
  by: string | null;
  current: boolean;
}

interface HistoryProps<Version> {
  title: string;
  list: List<Summary>;
  readVersion: (version: number) => {
    queryKey: QueryKey;
    queryFn: (context: { signal: AbortSignal }) => Promise<Version>;
  };
  toText: (version: Version) => string;
  /** Content of the editor, as text. */
  draft: string;
  restore: (version: Version) => void;
  close: () => void;
}

export function History<Version>(props: HistoryProps<Version>) {
  const { title, list, readVersion, toText, draft, restore, close } = props;
  const [chosen, setChosen] = useState<number>();
  const roomy = useMediaQuery('(min-width: 62em)') ?? true;
  // The version before the current one is the most likely one to look for.
  const number = chosen ?? list.rows[1]?.version ?? list.rows[0]?.version;
  const version = useQuery({
    ...readVersion(number ?? 0),
    enabled: number !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const text = version.data === undefined ? undefined : toText(version.data);

  return (
    <Drawer opened onClose={close} title={title} size="min(1100px, 100%)">
      {list.error && <Failure error={list.error} retry={list.retry} />}
      {list.loading && <Skeleton height={240} />}
      <Group align="flex-start" gap="lg" wrap={roomy ? 'nowrap' : 'wrap'}>
        <Stack gap={4} w={roomy ? 200 : '100%'} role="group" aria-label={texts.versions}>
          {list.rows.map(row => (
            <UnstyledButton
              key={row.version}
              onClick={() => setChosen(row.version)}
              aria-pressed={row.version === number}
              className="navlink version"
            >
              <Box miw={0}>
                <Group gap={6}>
                  <Text size="sm" fw={500}>
                    {texts.version(row.version)}
                  </Text>
                  {row.current && (
                    <Badge variant="default" tt="none" size="sm">
                      {texts.current}
                    </Badge>
                  )}
                </Group>
                <Text size="xs" c="dimmed" truncate>
                  <TimeAgo at={row.created_at} />
                  {row.by && ` · ${row.by}`}
                </Text>
              </Box>
            </UnstyledButton>
          ))}
          {list.hasMore && (
            <Button variant="subtle" loading={list.loadingMore} onClick={list.loadMore}>
              {texts.loadOlderVersions}
            </Button>
          )}
        </Stack>
        <Box flex={1} miw={0} w="100%">
          {version.error && <Failure error={version.error} retry={() => void version.refetch()} />}
          {text !== undefined && (
            <Stack gap="sm">
              <Group justify="space-between">
                <Text size="sm" c="dimmed">
                  {texts.versionComparedWithTheEditor(number)}
                </Text>
                <GuardedButton
                  permission="template:write"
                  variant="default"
                  onClick={() => {
                    restore(version.data!);
                    close();
                  }}
                >
                  {texts.restoreVersion(number)}
                </GuardedButton>
              </Group>
              {text === draft ? (
                <Empty title={texts.noDifferences}>{texts.noDifferencesHint}</Empty>
              ) : (
                <Suspense fallback={<Skeleton height={240} />}>
                  <Diff
                    before={text}
                    after={draft}
                    beforeLabel={texts.version(number)}
                    afterLabel={texts.draft}
                    sideBySide={roomy}
                  />
                </Suspense>
              )}
            </Stack>
          )}
        </Box>
      </Group>
    </Drawer>
  );
}
