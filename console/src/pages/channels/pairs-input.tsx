/** An input for name and value pairs, such as headers. */
import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { texts } from '../../texts/channels.ts';

interface PairsInputProps {
  label: string;
  description?: string;
  error?: string;
  withAsterisk?: boolean;
  /** Errors by name of the pair. */
  errors: Record<string, string>;
  value: Record<string, string>;
  onChange: (value: Record<string, string> | undefined) => void;
}

interface Pair {
  key: number;
  name: string;
  text: string;
}

let nextKey = 0;

export function PairsInput({ label, description, error, withAsterisk, errors, value, onChange }: PairsInputProps) {
  // Kept as a list, because two unfinished pairs may have the same name.
  const [pairs, setPairs] = useState<Pair[]>(() =>
    Object.entries(value).map(([name, text]) => ({ key: nextKey++, name, text })),
  );
  const change = (next: Pair[]) => {
    setPairs(next);
    const named = next.filter(({ name }) => name !== '');
    onChange(named.length > 0 ? Object.fromEntries(named.map(({ name, text }) => [name, text])) : undefined);
  };
  const edit = (key: number, part: Partial<Pair>) =>
    change(pairs.map(pair => (pair.key === key ? { ...pair, ...part } : pair)));
  return (
    <Input.Wrapper label={label} description={description} error={error} withAsterisk={withAsterisk} labelElement="div">
      <Stack gap={6} mt={6}>
        {pairs.map(({ key, name, text }, i) => (
          <Group key={key} gap={6} wrap="nowrap" align="flex-start">
            <TextInput
              aria-label={texts.pairName(label, i + 1)}
              placeholder={texts.name}
              value={name}
              error={errors[name]}
              onChange={event => edit(key, { name: event.currentTarget.value })}
              flex={1}
            />
            <TextInput
              aria-label={texts.pairValue(label, i + 1)}
              placeholder={texts.value}
              value={text}
              onChange={event => edit(key, { text: event.currentTarget.value })}
              flex={2}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              mt={4}
              aria-label={texts.removePair(name || texts.pair(i + 1))}
              onClick={() => change(pairs.filter(pair => pair.key !== key))}
            >
              <IconX size={15} />
            </ActionIcon>
          </Group>
        ))}
        <div>
          <Button
            variant="default"
            leftSection={<IconPlus size={14} />}
            onClick={() => setPairs([...pairs, { key: nextKey++, name: '', text: '' }])}
          >
            {texts.add}
          </Button>
        </div>
      </Stack>
    </Input.Wrapper>
  );
}
