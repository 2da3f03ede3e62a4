/** Form fields for quiet hours and their time zone, of an organization or of one user. */
import { Chip, Group, Input, Select, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Preferences, timezones } from '../api-types.ts';
import { texts } from '../texts/preferences.ts';

export type QuietHours = NonNullable<Preferences['quiet_hours']>;

export interface QuietHoursValues {
  /** `default`: the organization's quiet hours apply. */
  quiet: 'default' | 'custom' | 'none';
  from: string;
  to: string;
  days: string[];
  /** Empty for the default time zone. */
  timezone: string;
}

export const weekdays = Object.keys(texts.weekdays);

export function toQuietHoursValues(
  hours: QuietHours | null,
  timezone: string | null,
  absent: 'default' | 'none',
  fallback: QuietHours | null = null,
): QuietHoursValues {
  const shown = hours?.from ? hours : fallback;
  return {
    quiet: hours === null ? absent : hours.enabled === false ? 'none' : 'custom',
    from: shown?.from ?? '22:00',
    to: shown?.to ?? '07:00',
    days: shown?.weekdays ?? weekdays,
    timezone: timezone ?? '',
  };
}

/** Converts the values to the API's fields; `absent` is the mode that the API stores as null. */
export function toQuietHoursFields({ quiet, from, to, days, timezone }: QuietHoursValues, absent: 'default' | 'none') {
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

export function validateQuietHours({ quiet, from, to, days }: QuietHoursValues): Record<string, string> {
  if (quiet !== 'custom') return {};
  return {
    ...(!from && { from: texts.enterATime }),
    ...(!to && { to: texts.enterATime }),
    ...(from && from === to && { to: texts.mustDiffer }),
    ...(days.length === 0 && { days: texts.chooseADay }),
  };
}

/** Describes quiet hours: "22:00–07:00 Europe/Berlin, Mon, Tue". */
export function describeHours(hours: QuietHours | null, zone: string): string {
  if (!hours?.from || hours.enabled === false) return texts.noneSet;
  const days = hours.weekdays?.map(day => texts.weekdays[day]).join(', ');
  return `${hours.from}–${hours.to} ${zone}${days ? `, ${days}` : ''}`;
}

interface Form {
  values: QuietHoursValues;
  errors: Record<string, ReactNode>;
  // biome-ignore lint/suspicious/noExplicitAny: this is the library's own return type
  getInputProps(field: string): any;
}

interface QuietHoursFieldsProps {
  form: Form;
  modes: { value: QuietHoursValues['quiet']; label: string }[];
  hint: string;
  defaultTimezone: string;
  /** Zone that applies if none is selected. */
  defaultZone: string;
  timezoneHint?: string;
}

export function QuietHoursFields(props: QuietHoursFieldsProps) {
  const { form, modes, hint, defaultTimezone, defaultZone, timezoneHint } = props;
  const { quiet, timezone } = form.values;
  const zones = timezone && !timezones.includes(timezone) ? [timezone, ...timezones] : timezones;
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
      {quiet === 'custom' && (
        <>
          <Group gap="sm" align="flex-start">
            <TextInput type="time" label={texts.from} w={130} {...form.getInputProps('from')} />
            <TextInput type="time" label={texts.until} w={130} {...form.getInputProps('to')} />
          </Group>
          <Text size="xs" c="dimmed">
            {texts.timesIn(timezone || defaultZone)}
          </Text>
          <Input.Wrapper label={texts.startDays} labelElement="div" error={form.errors.days}>
            <Chip.Group multiple {...form.getInputProps('days')}>
              <Group gap={6} mt={4} role="group" aria-label={texts.startDays}>
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
        data={[{ value: '', label: defaultTimezone }, ...zones.map(zone => ({ value: zone, label: zone }))]}
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
