/** Previews of a message by channel type. */
import { Box, Group, Text } from '@mantine/core';
import type { Message } from '../api-types.ts';
import { JsonView } from '../components/json-view.tsx';
import { texts } from '../texts/designer.ts';
import { SlackBlocks } from './preview-slack.tsx';
import { TeamsCard } from './preview-teams.tsx';

/** Extra information about the message, such as the number of SMS segments. */
export function noteOf(type: string, content: Message): string | undefined {
  return type === 'sms' ? segments(content) : undefined;
}

function segments({ text, segments = 1 }: Message): string {
  return texts.characters(text.length, segments);
}

export function PreviewBody({ type, content }: { type: string; content: Message }) {
  switch (type) {
    case 'slack':
      return <SlackBlocks blocks={content.card} />;
    case 'teams':
      return <TeamsCard card={content.card} />;
    case 'webhook':
      return <JsonView value={content.data ?? content.text} label={texts.webhookBody} maxHeight={260} />;
    case 'push':
    case 'webpush':
    case 'inbox':
      return <Banner content={content} />;
    case 'sms':
    case 'whatsapp':
    case 'telegram':
    case 'chat':
      return <Bubble text={content.text} />;
    default:
      return <Plain title={content.title} text={content.text} />;
  }
}

function Bubble({ text }: { text: string }) {
  return (
    <Box className="bubble">
      <Text size="sm" component="p" m={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text || texts.empty}
      </Text>
    </Box>
  );
}

function Banner({ content: { title, text } }: { content: Message }) {
  return (
    <Group gap="sm" align="flex-start" wrap="nowrap" className="banner">
      <img src="/belfry.svg" alt="" width={22} height={22} />
      <Box miw={0}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {title || texts.noTitle}
        </Text>
        <Text size="sm" lineClamp={4} style={{ whiteSpace: 'pre-line', overflowWrap: 'anywhere' }}>
          {text}
        </Text>
      </Box>
    </Group>
  );
}

function Plain({ title, text }: { title: string; text: string }) {
  return (
    <>
      {title && (
        <Text size="sm" fw={600} mb={4}>
          {title}
        </Text>
      )}
      <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Text>
    </>
  );
}
