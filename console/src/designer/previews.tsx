/** Previews of the draft on every channel, as the recipient would see it. */
import { Alert, Badge, Box, Button, Group, Loader, Switch, Text, Title } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { explain } from '../api.ts';
import type { Preview } from '../api-types.ts';
import { getChannelType } from '../channel-types.ts';
import { fill } from '../components/fill.tsx';
import { texts } from '../texts/designer.ts';
import { languageName } from './languages.ts';
import { noteOf, PreviewBody } from './preview-body.tsx';
import { EmailPreview } from './preview-email.tsx';

interface PreviewsProps {
  preview: Preview | undefined;
  error: unknown;
  working: boolean;
  everyType: boolean;
  setEveryType: (on: boolean) => void;
  addToSample: (names: string[]) => void;
  userSelect: React.ReactNode;
  /** Language being edited; empty for the recipient's own. */
  locale: string;
}

export function Previews({
  preview,
  error,
  working,
  everyType,
  setEveryType,
  addToSample,
  userSelect,
  locale,
}: PreviewsProps) {
  const missing = [...new Set(preview?.previews.flatMap(one => one.missing))];
  return (
    <Box component="section" aria-label={texts.preview} aria-busy={working}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Group gap="xs">
          <Title order={2}>{texts.preview}</Title>
          {locale && (
            <Badge variant="default" tt="none" fw={400}>
              {languageName(locale)}
            </Badge>
          )}
          {working && <Loader size={12} aria-hidden />}
        </Group>
        <Group gap="sm">
          {userSelect}
          <Switch
            size="xs"
            label={texts.allChannelTypes}
            checked={everyType}
            onChange={event => setEveryType(event.currentTarget.checked)}
          />
        </Group>
      </Group>
      {Boolean(error) && (
        <Alert color="red" variant="light" p="xs" mb="sm">
          <Text size="sm" c="var(--mantine-color-text)">
            {explain(error)}
          </Text>
        </Alert>
      )}
      {preview?.warnings.map(warning => (
        <Alert key={warning} color="yellow" variant="light" p="xs" mb="sm" role="status">
          <Text size="sm" c="var(--mantine-color-text)">
            {warning}
          </Text>
        </Alert>
      ))}
      {missing.length > 0 && (
        <Alert color="yellow" variant="light" p="xs" mb="sm" role="status">
          <Group justify="space-between" gap="xs">
            <Text size="sm" c="var(--mantine-color-text)">
              {fill(texts.missingInTheSample, { names: <span className="mono">{missing.join(', ')}</span> })}
            </Text>
            <Button
              variant="default"
              size="compact-xs"
              leftSection={<IconPlus size={12} stroke={1.8} />}
              onClick={() => addToSample(missing)}
            >
              {texts.addToSample}
            </Button>
          </Group>
        </Alert>
      )}
      <div className="previews">
        {preview?.previews.map(one => (
          <PreviewCard key={one.channel} {...one} />
        ))}
      </div>
    </Box>
  );
}

function PreviewCard({ channel, type, content, problem }: Preview['previews'][number]) {
  const { icon: Icon, name } = getChannelType(type);
  const extra = content && noteOf(type, content);
  return (
    <Box
      component="article"
      className="card preview"
      aria-label={texts.previewOf(channel)}
      data-wide={type === 'email'}
    >
      <Group justify="space-between" px="sm" py={7} gap="xs" style={{ borderBottom: '1px solid var(--line)' }}>
        <Group gap={6}>
          <Icon size={15} stroke={1.6} color="var(--soft)" aria-hidden />
          <Text size="sm" fw={500}>
            {channel}
          </Text>
          {channel !== type && (
            <Text size="xs" c="dimmed">
              {name}
            </Text>
          )}
        </Group>
        {extra && (
          <Text size="xs" c="dimmed" className="numbers">
            {extra}
          </Text>
        )}
      </Group>
      <Box p="sm">
        {problem && (
          <Text size="sm" c="var(--mantine-color-error)" style={{ overflowWrap: 'anywhere' }}>
            {problem}
          </Text>
        )}
        {content &&
          (type === 'email' ? <EmailPreview content={content} /> : <PreviewBody type={type} content={content} />)}
      </Box>
    </Box>
  );
}
