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
 * Searches when typing pauses. The value returns from the URL after a delay, when more may have been typed already:
 * only a value that was not set here, such as by the back button, replaces the text.
 */
export function SearchInput({ label, value, onChange, ...props }: SearchInputProps) {
  const [typed, setTyped] = useState(value);
  /** Values that were set here and have not returned yet. */
  const pending = useRef<string[]>([]);
  const search = (text: string) => {
    pending.current.push(text);
    onChange(text);
  };
  const searchLater = useDebouncedCallback(search, 250);
  useEffect(() => {
    const index = pending.current.indexOf(value);
    if (index >= 0) pending.current.splice(0, index + 1);
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
              searchLater.cancel();
              setTyped('');
              search('');
            }}
          />
        )
      }
      value={typed}
      onChange={event => {
        setTyped(event.currentTarget.value);
        searchLater(event.currentTarget.value.trim());
      }}
      {...props}
    />
  );
}
