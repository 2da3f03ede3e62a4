/** When a key ends: never, after a while, or on a day. */
import { Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';

const dayMs = 86_400_000;
const choices = [
  { value: 'never', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
  { value: 'day', label: 'On a date…' },
];

interface ExpiryProps {
  /** RFC 3339, or null for never. */
  value: string | null;
  onChange: (expiresAt: string | null) => void;
  error?: string;
}

export function Expiry({ value, onChange, error }: ExpiryProps) {
  const [choice, setChoice] = useState(value ? 'day' : 'never');
  const choose = (next: string) => {
    setChoice(next);
    if (next === 'never') onChange(null);
    else if (next !== 'day') onChange(new Date(Date.now() + Number(next) * dayMs).toISOString());
  };
  return (
    <Group align="flex-start" gap="xs" grow>
      <Select
        label="Expires"
        data={choices}
        value={choice}
        onChange={next => choose(next ?? 'never')}
        allowDeselect={false}
        error={error}
      />
      {choice === 'day' && (
        <TextInput
          type="date"
          label="Date"
          description={null}
          value={value?.slice(0, 10) ?? ''}
          // Until the end of that day.
          onChange={event => {
            const day = event.currentTarget.value;
            if (day) onChange(new Date(`${day}T23:59:59`).toISOString());
          }}
        />
      )}
    </Group>
  );
}
