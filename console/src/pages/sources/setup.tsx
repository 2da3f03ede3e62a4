/** What to paste into each sender, with the address of the source. */
import { Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { CopyBlock } from '../../components/copy.tsx';
import { read } from '../../queries.ts';
import { texts } from '../../texts/sources.ts';
import type { SourcePath } from './source-path.ts';

export function Setup({ path }: { path: SourcePath }) {
  const { data = [] } = useQuery(read('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/setup/', { path }));
  const [chosen, setChosen] = useState<string | null>(null);
  const sender = data.find(({ name }) => name === chosen) ?? data[0];
  if (!sender) return null;
  return (
    <Stack gap="xs">
      <Select
        label={texts.sender}
        data={data.map(({ name, title }) => ({ value: name, label: title }))}
        allowDeselect={false}
        value={sender.name}
        onChange={setChosen}
      />
      <Text size="sm">{sender.hint}</Text>
      <CopyBlock value={sender.text} label={texts.copySetup} />
    </Stack>
  );
}
