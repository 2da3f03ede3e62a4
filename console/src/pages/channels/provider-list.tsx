/** The providers of a channel, in failover order. */
import { ActionIcon, Anchor, Box, Button, Group, Menu, Stack, Text, Tooltip, VisuallyHidden } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPlus, IconSparkles, IconTrash } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import type { ProviderKind } from '../../api-types.ts';
import { showError } from '../../components/actions.tsx';
import { errorsBelow } from '../../components/form.tsx';
import { texts } from '../../texts/channels.ts';
import { generators } from './generate-secrets.ts';
import { SettingsFields } from './settings-fields.tsx';
import { type Schema, type Values, withoutEmpty } from './settings-schema.ts';

export interface ProviderDraft {
  /** React key, unique within the form, also for drafts that were kept. */
  key: string;
  use: string;
  values: Values;
  /** The stored values. */
  before: Values;
  secretsSet: string[];
}

export function draftOf(use: string, values: Values = {}, secretsSet: string[] = []): ProviderDraft {
  return { key: Math.random().toString(36).slice(2), use, values, before: values, secretsSet };
}

interface ProviderListProps {
  kinds: ProviderKind[];
  type: string;
  drafts: ProviderDraft[];
  onChange: (drafts: ProviderDraft[]) => void;
  /** Errors of the whole form, named `providers/0/host`. */
  errors: Record<string, string>;
}

export function kindsFor(kinds: ProviderKind[], type: string): ProviderKind[] {
  return kinds.filter(({ medium }) => medium === type || medium === 'any');
}

/** Returns the provider's title, or its name if the service no longer has the provider. */
export function titleOf(kinds: ProviderKind[], name: string): string {
  return kinds.find(kind => kind.name === name)?.title ?? name;
}

export function ProviderList({ kinds, type, drafts, onChange, errors }: ProviderListProps) {
  const [announcement, setAnnouncement] = useState('');
  // Moving a card loses the focus, so it is restored on the button that was pressed.
  const moved = useRef<{ key: string; by: number } | undefined>(undefined);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!moved.current) return;
    const { key, by } = moved.current;
    moved.current = undefined;
    const buttons = list.current?.querySelectorAll<HTMLButtonElement>(`[data-card="${key}"] [data-move]`) ?? [];
    const pressed = [...buttons].find(button => button.dataset.move === String(by) && !button.disabled);
    (pressed ?? [...buttons].find(button => !button.disabled))?.focus();
  });

  const move = (at: number, by: number) => {
    const next = [...drafts];
    const [draft] = next.splice(at, 1);
    next.splice(at + by, 0, draft!);
    moved.current = { key: draft!.key, by };
    setAnnouncement(`${titleOf(kinds, draft!.use)} moved to position ${at + by + 1} of ${drafts.length}`);
    onChange(next);
  };
  return (
    <Stack gap="sm">
      <Stack gap="sm" ref={list} role="list">
        {drafts.map((draft, i) => (
          <Box key={draft.key} role="listitem" data-card={draft.key} className="card" p="sm">
            <Group justify="space-between" wrap="nowrap" mb="xs" align="flex-start">
              <div style={{ flex: 1 }}>
                <Text fw={600} size="sm">
                  {drafts.length > 1 && `${i + 1}. `}
                  {titleOf(kinds, draft.use)}
                </Text>
                <Text size="xs" c="dimmed">
                  {kinds.find(({ name }) => name === draft.use)?.summary}{' '}
                  {kinds.some(({ name }) => name === draft.use) && (
                    <Anchor href={`/docs/providers/${draft.use}`} target="_blank" inherit underline="always">
                      {texts.setupGuide(titleOf(kinds, draft.use))}
                    </Anchor>
                  )}
                </Text>
              </div>
              <Group gap={2} wrap="nowrap">
                {drafts.length > 1 && (
                  <>
                    <Move
                      label={texts.moveUp(titleOf(kinds, draft.use))}
                      by={-1}
                      disabled={i === 0}
                      onClick={() => move(i, -1)}
                    />
                    <Move
                      label={texts.moveDown(titleOf(kinds, draft.use))}
                      by={1}
                      disabled={i === drafts.length - 1}
                      onClick={() => move(i, 1)}
                    />
                    <Tooltip label={texts.remove}>
                      <ActionIcon
                        variant="subtle"
                        color="gray"
                        aria-label={texts.removeProvider(titleOf(kinds, draft.use))}
                        onClick={() => onChange(drafts.filter(({ key }) => key !== draft.key))}
                      >
                        <IconTrash size={15} stroke={1.6} />
                      </ActionIcon>
                    </Tooltip>
                  </>
                )}
              </Group>
            </Group>
            {errors[`providers/${i}/use`] && (
              <Text size="xs" c="var(--mantine-color-error)" mb="xs">
                {errors[`providers/${i}/use`]}
              </Text>
            )}
            <GenerateButton
              draft={draft}
              onChange={values => onChange(drafts.map(each => (each.key === draft.key ? { ...each, values } : each)))}
            />
            <SettingsFields
              schema={(kinds.find(({ name }) => name === draft.use)?.settings ?? {}) as Schema}
              values={draft.values}
              onChange={values => onChange(drafts.map(each => (each.key === draft.key ? { ...each, values } : each)))}
              errors={errorsBelow(errors, `providers/${i}`)}
              before={draft.before}
              secretsSet={draft.secretsSet}
            />
            {Object.keys((kinds.find(({ name }) => name === draft.use)?.settings as Schema)?.properties ?? {})
              .length === 0 && (
              <Text size="sm" c="dimmed">
                {texts.noSettingsNeeded}
              </Text>
            )}
          </Box>
        ))}
      </Stack>
      <VisuallyHidden aria-live="polite">{announcement}</VisuallyHidden>
      <div>
        <Menu position="bottom-start" width={320} shadow="md" keepMounted={false}>
          <Menu.Target>
            <Button variant="default" leftSection={<IconPlus size={14} />}>
              {drafts.length > 0 ? texts.addFallbackProvider : texts.addProvider}
            </Button>
          </Menu.Target>
          <Menu.Dropdown mah={320} style={{ overflowY: 'auto' }}>
            {kindsFor(kinds, type).map(({ name, title, summary }) => (
              <Menu.Item key={name} onClick={() => onChange([...drafts, draftOf(name)])}>
                <Text size="sm" fw={500}>
                  {title}
                </Text>
                <Text size="xs" c="dimmed">
                  {summary}
                </Text>
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      </div>
    </Stack>
  );
}

function GenerateButton({ draft, onChange }: { draft: ProviderDraft; onChange: (values: Values) => void }) {
  const generate = generators[draft.use];
  if (!generate) return null;
  return (
    <Group gap="xs" mb="sm">
      <Button
        variant="default"
        leftSection={<IconSparkles size={14} stroke={1.6} />}
        onClick={() => void generate().then(secrets => onChange({ ...draft.values, ...secrets }), showError)}
      >
        {texts.generateSecrets}
      </Button>
    </Group>
  );
}

/** Returns an error for each required setting that is empty, by field. */
export function missingSettings(kinds: ProviderKind[], drafts: ProviderDraft[]): Record<string, string> {
  const missing = drafts.flatMap(({ use, values, secretsSet }, i) => {
    const schema = (kinds.find(({ name }) => name === use)?.settings ?? {}) as Schema;
    const filled = withoutEmpty(values);
    const names = (schema.required ?? []).filter(name => !(name in filled) && !secretsSet.includes(name));
    return names.map(name => [`providers/${i}/${name}`, texts.required] as const);
  });
  return Object.fromEntries(missing);
}

function Move({ label, by, disabled, onClick }: { label: string; by: number; disabled: boolean; onClick: () => void }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} data-move={by} disabled={disabled} onClick={onClick}>
        {by < 0 ? <IconArrowUp size={15} stroke={1.6} /> : <IconArrowDown size={15} stroke={1.6} />}
      </ActionIcon>
    </Tooltip>
  );
}
