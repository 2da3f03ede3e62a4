/** Form fields for when something begins and ends, in the viewer's time zone. */
import { SimpleGrid, TextInput } from '@mantine/core';

interface TimeSpan {
  starts_at: string;
  ends_at: string;
}

export const emptyTimeSpan: TimeSpan = { starts_at: '', ends_at: '' };

export function validateTimeSpan(
  { starts_at, ends_at }: TimeSpan,
  texts: { enterABeginning: string; enterAnEnd: string },
): Record<string, string> {
  return {
    ...(starts_at === '' && { starts_at: texts.enterABeginning }),
    ...(ends_at === '' && { ends_at: texts.enterAnEnd }),
  };
}

/** Returns the times as the API expects them. */
export function readTimeSpan({ starts_at, ends_at }: TimeSpan): TimeSpan {
  return { starts_at: new Date(starts_at).toISOString(), ends_at: new Date(ends_at).toISOString() };
}

interface TimeSpanFieldsProps {
  form: { getInputProps: (field: keyof TimeSpan) => object };
  texts: { begins: string; ends: string; yourTimes: string };
  'data-autofocus'?: boolean;
}

export function TimeSpanFields({ form, texts, ...begin }: TimeSpanFieldsProps) {
  const shared = { type: 'datetime-local', description: texts.yourTimes, required: true } as const;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <TextInput label={texts.begins} {...shared} {...begin} {...form.getInputProps('starts_at')} />
      <TextInput label={texts.ends} {...shared} {...form.getInputProps('ends_at')} />
    </SimpleGrid>
  );
}
