/** Edits the sample context or copies it from a recent occurrence. */
import { Button, Group, Menu } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { showError } from '../components/actions.tsx';
import { shortId } from '../components/short-id.tsx';
import { timeAgo } from '../components/time.tsx';
import { CodeField } from '../editor/code.tsx';
import { texts } from '../texts/events.ts';
import { contextOf, type EventPath, format, type Sample, useRecent } from './sample.ts';

interface SampleEditorProps {
  sample: Sample;
  label?: string;
  minHeight?: number;
}

export function SampleEditor({ sample, label = texts.sampleContext, minHeight = 110 }: SampleEditorProps) {
  return (
    <CodeField
      label={label}
      hideLabel
      language="json"
      value={sample.text}
      onChange={sample.setText}
      error={sample.problem}
      minHeight={minHeight}
      maxHeight={320}
      placeholder='{ "order": "A-1" }'
    />
  );
}

export function TakeRecent({ path, sample }: { path: EventPath; sample: Sample }) {
  const recent = useRecent(path).data ?? [];
  if (recent.length === 0) return null;
  const use = (identifier: string) =>
    contextOf(path.org, identifier).then(context => sample.setText(format(context)), showError);
  return (
    <Group gap={4}>
      <Menu position="bottom-end" shadow="md" keepMounted={false}>
        <Menu.Target>
          <Button variant="subtle" leftSection={<IconHistory size={14} stroke={1.6} />}>
            {texts.useRecentContext}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{texts.fromRecentOccurrences}</Menu.Label>
          {recent.map(({ identifier, created_at }) => (
            <Menu.Item key={identifier} onClick={() => void use(identifier)}>
              <span className="mono">{shortId(identifier)}</span> {timeAgo(created_at)}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
