/** Selects the event that something triggers. */
import { Select } from '@mantine/core';
import { selectProps } from './form.tsx';

interface EventSelectProps {
  form: Parameters<typeof selectProps<'event'>>[0];
  texts: { event: string; eventHint: string; chooseEvent: string };
  paths: string[];
}

export function EventSelect({ form, texts, paths }: EventSelectProps) {
  return (
    <Select
      label={texts.event}
      description={texts.eventHint}
      placeholder={texts.chooseEvent}
      data={paths}
      searchable
      {...selectProps(form, 'event')}
    />
  );
}
