/** Input for a key's expiry: never, after a period, or on a date. */
import { Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { texts } from '../../texts/keys.ts';

const dayMs = 86_400_000;
const choices = [
  { value: 'never', label: texts.never },
  { value: '7', label: texts.in7Days },
  { value: '30', label: texts.in30Days },
  { value: '90', label: texts.in90Days },
  { value: '365', label: texts.in1Year },
  { value: 'day', label: texts.onADate },
];

/** Formats a date as `2026-11-15` in the viewer's time zone. */
function dayOf(moment: string): string {
  const at = new Date(moment);
  const two = (part: number) => String(part).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

interface ExpiryProps {
  /** RFC 3339 timestamp, or null for never. */
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
        label={texts.expires}
        data={choices}
        value={choice}
        onChange={next => choose(next ?? 'never')}
        allowDeselect={false}
        error={error}
      />
      {choice === 'day' && (
        <TextInput
          type="date"
          label={texts.date}
          description={null}
          value={value ? dayOf(value) : ''}
          // The key expires at the end of the day.
          onChange={event => {
            const day = event.currentTarget.value;
            if (day) onChange(new Date(`${day}T23:59:59`).toISOString());
          }}
        />
      )}
    </Group>
  );
}
