import { CloseButton, TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { texts } from '../texts/common.ts';

interface SearchInputProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/**
 * Asks when the typing pauses. The value comes back from the address some time after it was asked for, and by then more
 * may have been typed: only a value that was not asked for here, such as that of the back button, replaces the text.
 */
export function SearchInput({ label, value, onChange, ...props }: SearchInputProps) {
  const [typed, setTyped] = useState(value);
  /** Those that have not come back yet. */
  const asked = useRef<string[]>([]);
  const tell = (text: string) => {
    asked.current.push(text);
    onChange(text);
  };
  const tellLater = useDebouncedCallback(tell, 250);
  useEffect(() => {
    const own = asked.current.indexOf(value);
    if (own >= 0) asked.current.splice(0, own + 1);
    else setTyped(value);
  }, [value]);
  return (
    <TextInput
      size="xs"
      type="search"
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={14} stroke={1.6} />}
      rightSection={
        typed && (
          <CloseButton
            size="xs"
            aria-label={texts.clear}
            onClick={() => {
              tellLater.cancel();
              setTyped('');
              tell('');
            }}
          />
        )
      }
      value={typed}
      onChange={event => {
        setTyped(event.currentTarget.value);
        tellLater(event.currentTarget.value.trim());
      }}
      {...props}
    />
  );
}
