/** A message exactly as its recipient gets it, with a tab for each format; those to read come first. */
import { Alert, Badge, Box, Group, Stack, Tabs, Text } from '@mantine/core';
import type { Message } from '../api-types.ts';
import { texts } from '../texts/common.ts';
import { countOf } from '../texts/count-of.ts';
import { HtmlFrame } from './html-frame.tsx';
import { JsonView } from './json-view.tsx';

export function MessageView({ message }: { message: Message }) {
  const { title, text, html, markup, card, data, segments, missing } = message;
  const forms = [
    html !== undefined && {
      name: texts.html,
      panel: <HtmlFrame html={html} label={`Message: ${title || texts.html}`} />,
    },
    markup !== undefined && { name: texts.markup, panel: <Plain text={markup} label={texts.markup} /> },
    text !== '' && { name: texts.text, panel: <Plain text={text} label={texts.text} /> },
    card !== undefined && { name: texts.card, panel: <JsonView value={card} label={texts.card} /> },
    data !== undefined && { name: texts.data, panel: <JsonView value={data} label={texts.data} /> },
  ].filter(form => form !== false);
  return (
    <Stack gap="sm">
      {missing.length > 0 && (
        <Alert color="yellow" variant="light" p="xs" title={texts.missingVariables}>
          <Text size="sm" c="var(--mantine-color-text)" className="mono">
            {missing.join(', ')}
          </Text>
        </Alert>
      )}
      <Box className="card" style={{ overflow: 'hidden' }}>
        {(title || segments !== undefined) && (
          <Group px="sm" py={8} gap="xs" justify="space-between" style={{ borderBottom: '1px solid var(--line)' }}>
            <Text fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
              {title || texts.noSubject}
            </Text>
            {segments !== undefined && (
              <Badge color="gray" tt="none">
                {countOf(segments, 'segment')}
              </Badge>
            )}
          </Group>
        )}
        {forms.length > 1 ? (
          <Tabs defaultValue={forms[0]!.name} keepMounted={false}>
            <Tabs.List px="xs">
              {forms.map(({ name }) => (
                <Tabs.Tab key={name} value={name} fz="xs" px="sm" py={8}>
                  {name}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            {forms.map(({ name, panel }) => (
              <Tabs.Panel key={name} value={name} p="sm">
                {panel}
              </Tabs.Panel>
            ))}
          </Tabs>
        ) : (
          <Box p="sm">{forms[0]?.panel ?? <Text c="dimmed">{texts.theMessageIsEmpty}</Text>}</Box>
        )}
      </Box>
    </Stack>
  );
}

function Plain({ text, label }: { text: string; label: string }) {
  return (
    <Box
      component="pre"
      m={0}
      fz="sm"
      tabIndex={0}
      role="group"
      aria-label={label}
      style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', fontFamily: 'inherit' }}
    >
      {text}
    </Box>
  );
}
