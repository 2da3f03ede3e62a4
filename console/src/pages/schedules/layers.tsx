/** The editor of a schedule's layers. */
import { Box, Button, Group, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { errorsBelow } from '../../components/form.tsx';
import { useCan } from '../../session.tsx';
import { texts } from '../../texts/schedules.ts';
import type { DraftLayer } from './layer-text.ts';
import { UserSelect } from './user-select.tsx';

interface LayersProps {
  layers: DraftLayer[];
  change: (layers: DraftLayer[]) => void;
  /** By field, such as `layers/0/users/1`. */
  errors: Record<string, unknown>;
  disabled?: boolean;
}

/** Returns the next Monday at nine. */
export function newLayer(number: number): DraftLayer {
  const now = new Date();
  const monday = new Date(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate() - ((now.getDay() + 6) % 7)));
  const from = `${monday.toISOString().slice(0, 10)}T09:00`;
  return { name: texts.newLayer(String(number)), every: '1w', from, until: '', turns: '', only: '' };
}

export function Layers({ layers, change, errors, disabled = false }: LayersProps) {
  const set = (i: number, changes: Partial<DraftLayer>) =>
    change(layers.map((layer, n) => (n === i ? { ...layer, ...changes } : layer)));
  return (
    <Stack gap="sm">
      {layers.map((layer, i) => (
        <LayerFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a layer is identified by its position
          key={i}
          number={i + 1}
          layer={layer}
          set={changes => set(i, changes)}
          remove={layers.length > 1 ? () => change(layers.filter((_, n) => n !== i)) : undefined}
          errors={errorsBelow(errors as Record<string, string>, `layers/${i}`)}
          disabled={disabled}
        />
      ))}
      {!disabled && (
        <Group>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} stroke={1.6} />}
            onClick={() => change([...layers, newLayer(layers.length + 1)])}
          >
            {texts.addLayer}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface LayerProps {
  number: number;
  layer: DraftLayer;
  set: (changes: Partial<DraftLayer>) => void;
  remove: (() => void) | undefined;
  errors: Record<string, string>;
  disabled: boolean;
}

function LayerFields({ number, layer, set, remove, errors, disabled }: LayerProps) {
  const mayRead = useCan()('user:read');
  const errorIn = (field: string) =>
    Object.entries(errors).find(([name]) => name === field || name.startsWith(`${field}/`))?.[1];
  const input = (field: keyof DraftLayer) => ({
    value: layer[field],
    onChange: (event: { currentTarget: { value: string } }) => set({ [field]: event.currentTarget.value }),
    disabled,
  });
  return (
    <Box component="fieldset" className="layer" aria-label={texts.layer(number)}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" fw={500}>
          {texts.layer(number)}
        </Text>
        {remove && !disabled && (
          <Button
            variant="subtle"
            color="gray"
            size="compact-xs"
            aria-label={texts.removeLayer(number)}
            onClick={remove}
          >
            <IconTrash size={14} stroke={1.6} />
          </Button>
        )}
      </Group>
      {/* Two fields for a date and a time do not fit beside each other into a narrow column of a wide page. */}
      <SimpleGrid type="container" cols={{ base: 1, '460px': 2 }} spacing="xs">
        <TextInput
          label={texts.layerName}
          description={texts.layerNameHint}
          {...input('name')}
          error={errorIn('name')}
        />
        <TextInput label={texts.every} description={texts.everyHint} {...input('every')} error={errorIn('every')} />
        <TextInput
          type="datetime-local"
          label={texts.begins}
          description={texts.beginsHint}
          {...input('from')}
          error={errorIn('from')}
        />
        <TextInput
          type="datetime-local"
          label={texts.ends}
          description={texts.endsHint}
          {...input('until')}
          error={errorIn('until')}
        />
      </SimpleGrid>
      <Textarea
        label={texts.turns}
        description={texts.turnsHint}
        placeholder={texts.turnsExample}
        autosize
        minRows={2}
        maxRows={12}
        {...input('turns')}
        error={errorIn('users')}
      />
      {mayRead && !disabled && (
        <UserSelect
          size="xs"
          maw={320}
          aria-label={texts.addUser}
          placeholder={texts.addUser}
          value={null}
          onChange={user => user && set({ turns: [layer.turns.trimEnd(), user].filter(Boolean).join('\n') })}
        />
      )}
      <Textarea
        label={texts.only}
        description={texts.onlyHint}
        placeholder={texts.onlyExample}
        autosize
        minRows={1}
        maxRows={8}
        {...input('only')}
        error={errorIn('only')}
      />
    </Box>
  );
}
