/** Quiet hours and the time zone that they are counted in: of an organization, or of one person. */
import { Chip, Group, Input, Select, Stack, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Preferences, timezones } from '../api-types.ts';
import { texts } from '../texts/preferences.ts';

export type QuietHours = NonNullable<Preferences['quiet_hours']>;

export interface QuietValues {
  /** `usual`: those of the organization. */
  quiet: 'usual' | 'own' | 'none';
  from: string;
  to: string;
  days: string[];
  /** Empty: the usual one. */
  timezone: string;
}

export const weekdays = Object.keys(texts.weekdays);

export function quietValues(
  hours: QuietHours | null,
  timezone: string | null,
  absent: 'usual' | 'none',
  usual: QuietHours | null = null,
): QuietValues {
  const shown = hours?.from ? hours : usual;
  return {
    quiet: hours === null ? absent : hours.enabled === false ? 'none' : 'own',
    from: shown?.from ?? '22:00',
    to: shown?.to ?? '07:00',
    days: shown?.weekdays ?? weekdays,
    timezone: timezone ?? '',
  };
}

/** As the service takes them; `absent` is what it calls null. */
export function quietFields({ quiet, from, to, days, timezone }: QuietValues, absent: 'usual' | 'none') {
  const own: QuietHours = {
    from,
    to,
    ...(days.length < weekdays.length && { weekdays: weekdays.filter(day => days.includes(day)) as never }),
  };
  return {
    timezone: timezone || null,
    quiet_hours: quiet === absent ? null : quiet === 'none' ? { enabled: false } : own,
  };
}

export function validateQuiet({ quiet, from, to, days }: QuietValues): Record<string, string> {
  if (quiet !== 'own') return {};
  return {
    ...(!from && { from: texts.enterATime }),
    ...(!to && { to: texts.enterATime }),
    ...(from && from === to && { to: texts.mustDiffer }),
    ...(days.length === 0 && { days: texts.chooseADay }),
  };
}

/** 22:00–07:00, Mon, Tue */
export function describeHours(hours: QuietHours | null): string {
  if (!hours?.from || hours.enabled === false) return texts.nothing;
  const days = hours.weekdays?.map(day => texts.weekdays[day]).join(', ');
  return `${hours.from}–${hours.to}${days ? `, ${days}` : ''}`;
}

interface Form {
  values: QuietValues;
  errors: Record<string, ReactNode>;
  // biome-ignore lint/suspicious/noExplicitAny: as the library says
  getInputProps(field: string): any;
}

interface QuietFieldsProps {
  form: Form;
  modes: { value: QuietValues['quiet']; label: string }[];
  hint: string;
  usualTimezone: string;
  timezoneHint?: string;
}

export function QuietFields({ form, modes, hint, usualTimezone, timezoneHint }: QuietFieldsProps) {
  const { quiet, timezone } = form.values;
  const known = timezone && !timezones.includes(timezone) ? [timezone, ...timezones] : timezones;
  return (
    <Stack gap="sm">
      <Select
        label={texts.quietHours}
        description={hint}
        data={modes}
        allowDeselect={false}
        maw={360}
        {...form.getInputProps('quiet')}
        error={form.errors.quiet_hours}
      />
      {quiet === 'own' && (
        <>
          <Group gap="sm" align="flex-start">
            <TextInput type="time" label={texts.from} w={130} {...form.getInputProps('from')} />
            <TextInput type="time" label={texts.until} w={130} {...form.getInputProps('to')} />
          </Group>
          <Input.Wrapper label={texts.days} labelElement="div" error={form.errors.days}>
            <Chip.Group multiple {...form.getInputProps('days')}>
              <Group gap={6} mt={4} role="group" aria-label={texts.days}>
                {weekdays.map(day => (
                  <Chip key={day} value={day} size="xs" variant="outline">
                    {texts.weekdays[day]}
                  </Chip>
                ))}
              </Group>
            </Chip.Group>
          </Input.Wrapper>
        </>
      )}
      <Select
        label={texts.timezone}
        description={timezoneHint}
        data={[{ value: '', label: usualTimezone }, ...known.map(zone => ({ value: zone, label: zone }))]}
        allowDeselect={false}
        searchable
        limit={100}
        nothingFoundMessage={texts.noMatches}
        maw={360}
        {...form.getInputProps('timezone')}
      />
    </Stack>
  );
}
