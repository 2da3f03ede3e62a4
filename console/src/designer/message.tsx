/** The message editor: one message for all channels, with overrides by channel and language. */
import {
  ActionIcon,
  Button,
  Group,
  Menu,
  Popover,
  Select,
  Stack,
  Switch,
  Tabs,
  Text,
  TextInput,
  Tooltip,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { Section } from '../components/page.tsx';
import { CodeField } from '../editor/code.tsx';
import type { SourceError } from '../editor/code-types.ts';
import type { Scope } from '../editor/completions.ts';
import { texts } from '../texts/designer.ts';
import {
  type Draft,
  fieldOf,
  type LocalizedMessageText,
  type MessageText,
  textAt,
  type Variant,
  withoutVariant,
  withText,
} from './draft.ts';
import { errorAt } from './errors.ts';
import { canonicalLocale, languageName } from './languages.ts';
import type { UsableChannel } from './use-channels.ts';

interface MessageProps {
  draft: Draft;
  change: (changes: Partial<Draft> | ((draft: Draft) => Draft)) => void;
  errors: Record<string, string[]>;
  sourceErrors: Record<string, SourceError[]>;
  scope: Scope;
  channels: UsableChannel[];
  layouts: string[];
  variant: Variant;
  setVariant: (variant: Variant) => void;
}

/** Tab value for all channels; not a valid slug. */
const everyChannel = '*';

export function Message(props: MessageProps) {
  const { draft, change, errors, sourceErrors, scope, channels, layouts, variant, setVariant } = props;
  const { channel, locale } = variant;
  const own: LocalizedMessageText = channel ? (draft.overrides[channel] ?? {}) : draft.message;
  const text = textAt(draft, variant);
  const set = (changes: MessageText) => change(current => withText(current, variant, changes));
  const remove = (variantToRemove: Variant) => {
    change(current => withoutVariant(current, variantToRemove));
    setVariant(variantToRemove.locale ? { channel, locale: '' } : { channel: '', locale: '' });
  };
  const names = [...new Set([...channels.flatMap(({ slug, type }) => [slug, type])])];
  const differs = channel !== '' || locale !== '';
  const wrong = (at: Variant) => {
    const fields = [fieldOf(at, 'subject'), fieldOf(at, 'body')];
    return fields.some(field => sourceErrors[field] || errors[field]);
  };

  return (
    <Section
      title={texts.message}
      aside={
        <Switch
          label={texts.strict}
          labelPosition="left"
          checked={draft.message.strict ?? false}
          onChange={event => {
            const strict = event.currentTarget.checked;
            change(current => ({ ...current, message: { ...current.message, strict: strict || undefined } }));
          }}
          aria-describedby="strict-hint"
        />
      }
    >
      <Tabs
        value={channel || everyChannel}
        onChange={value => setVariant({ channel: value === everyChannel ? '' : (value ?? ''), locale: '' })}
        keepMounted={false}
      >
        <Group gap={4} wrap="nowrap" mb="sm" align="flex-end">
          <Tabs.List aria-label={texts.channelsWithTheirOwnMessage} flex={1} miw={0}>
            <Tab value={everyChannel} label={texts.allChannels} wrong={wrong({ channel: '', locale: '' })} />
            {Object.keys(draft.overrides).map(name => (
              <Tab key={name} value={name} label={name} wrong={wrong({ channel: name, locale: '' })} />
            ))}
          </Tabs.List>
          <AddOverride
            names={names.filter(name => !(name in draft.overrides))}
            add={name => {
              change(current => ({ ...current, overrides: { ...current.overrides, [name]: {} } }));
              setVariant({ channel: name, locale: '' });
            }}
          />
        </Group>
        <Tabs.Panel value={channel || everyChannel}>
          <Stack gap="sm">
            <Group gap={4}>
              <Group gap={4} role="group" aria-label={texts.languages}>
                {['', ...Object.keys(own.locales ?? {})].map(tag => (
                  <Button
                    key={tag}
                    variant={tag === locale ? 'light' : 'subtle'}
                    color={wrong({ channel, locale: tag }) ? 'red' : tag === locale ? undefined : 'gray'}
                    size="compact-xs"
                    aria-pressed={tag === locale}
                    onClick={() => setVariant({ channel, locale: tag })}
                  >
                    {tag || texts.defaultLanguage}
                  </Button>
                ))}
              </Group>
              <AddLocale
                add={tag => {
                  change(current => withText(current, { channel, locale: tag }, {}));
                  setVariant({ channel, locale: tag });
                }}
              />
              {differs && (
                <Tooltip label={locale ? texts.removeLanguage(languageName(locale)) : texts.removeOverride(channel)}>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="sm"
                    ml="auto"
                    aria-label={locale ? texts.removeLanguage(languageName(locale)) : texts.removeOverride(channel)}
                    onClick={() => remove(variant)}
                  >
                    <IconTrash size={14} stroke={1.6} />
                  </ActionIcon>
                </Tooltip>
              )}
            </Group>
            <CodeField
              key={`${channel}/${locale}/subject`}
              label={texts.subject}
              language="liquid"
              singleLine
              value={text.subject ?? ''}
              onChange={subject => set({ subject })}
              scope={scope}
              sourceErrors={sourceErrors[fieldOf(variant, 'subject')]}
              error={errorAt(errors, fieldOf(variant, 'subject'))}
              placeholder={differs ? inherited(draft, variant, 'subject') : texts.subjectExample}
            />
            <CodeField
              key={`${channel}/${locale}/body`}
              label={texts.body}
              description={differs ? texts.inheritedBodyHint : texts.bodyHint}
              language="liquid"
              value={text.body ?? ''}
              onChange={body => set({ body })}
              scope={scope}
              sourceErrors={sourceErrors[fieldOf(variant, 'body')]}
              error={errorAt(errors, fieldOf(variant, 'body'))}
              placeholder={differs ? inherited(draft, variant, 'body') : ''}
              minHeight={240}
              maxHeight={560}
            />
            <Select
              label={texts.emailLayout}
              data={layouts}
              value={draft.message.layout ?? null}
              onChange={layout =>
                change(current => ({ ...current, message: { ...current.message, layout: layout ?? undefined } }))
              }
              clearable
              clearButtonProps={{ 'aria-label': texts.useTheDefaultLayout }}
              placeholder={texts.defaultLayout}
              error={sourceErrors['message/layout']?.[0]?.message ?? errorAt(errors, 'message/layout')}
            />
            <Text size="xs" c="dimmed" id="strict-hint">
              {texts.strictHint}
            </Text>
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </Section>
  );
}

function Tab({ value, label, wrong }: { value: string; label: string; wrong: boolean }) {
  return (
    <Tabs.Tab value={value} fz="sm" py={8} px="sm" c={wrong ? 'var(--mantine-color-error)' : undefined}>
      {label}
      {wrong && <span> (!)</span>}
    </Tabs.Tab>
  );
}

function inherited(draft: Draft, { channel, locale }: Variant, field: keyof MessageText): string {
  const above: Variant[] = [
    ...(channel && locale ? [{ channel, locale: '' }] : []),
    ...(channel && locale ? [{ channel: '', locale }] : []),
    { channel: '', locale: '' },
  ];
  const found = above.map(variant => textAt(draft, variant)[field]).find(text => text);
  return found ?? '';
}

function AddOverride({ names, add }: { names: string[]; add: (name: string) => void }) {
  return (
    <Menu position="bottom-end" shadow="md" keepMounted={false}>
      <Menu.Target>
        <Button variant="subtle" leftSection={<IconPlus size={13} stroke={1.8} />}>
          {texts.channel}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={320} style={{ overflowY: 'auto' }}>
        <Menu.Label>{texts.overrideFor}</Menu.Label>
        {names.map(name => (
          <Menu.Item key={name} onClick={() => add(name)}>
            {name}
          </Menu.Item>
        ))}
        {names.length === 0 && <Menu.Item disabled>{texts.allChannelsHaveAnOverride}</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  );
}

function AddLocale({ add }: { add: (locale: string) => void }) {
  const [opened, setOpened] = useState(false);
  const form = useForm({ initialValues: { tag: '' } });
  const { tag } = form.values;
  const locale = canonicalLocale(tag);
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus shadow="md" width={230} keepMounted={false}>
      <Popover.Target>
        <Button
          variant="subtle"
          color="gray"
          size="compact-xs"
          leftSection={<IconPlus size={12} stroke={1.8} />}
          onClick={() => setOpened(!opened)}
        >
          {texts.language}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          onSubmit={form.onSubmit(() => {
            if (!locale) return;
            add(locale);
            form.reset();
            setOpened(false);
          })}
        >
          <TextInput
            label={texts.language}
            description={texts.languageHint}
            {...form.getInputProps('tag')}
            error={tag !== '' && !locale ? texts.enterALanguageTag : undefined}
            data-autofocus
          />
          <Button type="submit" mt="xs" fullWidth disabled={!locale}>
            {texts.addLanguage(locale && languageName(locale))}
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
