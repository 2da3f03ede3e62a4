import { CloseButton, TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';

interface SearchInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** Asks when the typing pauses. */
export function SearchInput({ label, value, onChange, ...props }: SearchInputProps) {
  const [typed, setTyped] = useState(value);
  const tell = useDebouncedCallback(onChange, 250);
  useEffect(() => setTyped(value), [value]);
  return (
    <TextInput
      size="xs"
      type="search"
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={14} stroke={1.6} />}
      rightSection={typed && <CloseButton size="xs" aria-label="Clear" onClick={() => onChange('')} />}
      value={typed}
      onChange={event => {
        setTyped(event.currentTarget.value);
        tell(event.currentTarget.value.trim());
      }}
      {...props}
    />
  );
}
