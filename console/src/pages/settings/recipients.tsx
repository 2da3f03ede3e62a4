/** Organization settings for all recipients: branding of their pages, quiet hours, daily limit. */
import { Box, ColorInput, Fieldset, Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api.ts';
import type { OrganizationSettings } from '../../api-types.ts';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { HtmlFrame } from '../../components/html-frame.tsx';
import {
  QuietHoursFields,
  toQuietHoursFields,
  toQuietHoursValues,
  validateQuietHours,
} from '../../components/quiet-hours.tsx';
import { limitsOf } from '../../form-fields.ts';
import { useOrg } from '../../paths.ts';
import { ask } from '../../queries.ts';
import { useRefusal } from '../../session.tsx';
import { texts } from '../../texts/preferences.ts';

/** Default color of the recipient pages. */
const defaultColor = '#1f5fbf';

interface RecipientSettingsProps {
  settings: OrganizationSettings;
  etag: string | null;
  refill: () => void;
}

export function RecipientSettings({ settings, etag, refill }: RecipientSettingsProps) {
  const org = useOrg();
  const refusal = useRefusal()('organization:write');
  const editing = useApiForm({
    initialValues: {
      brand_color: settings.brand_color ?? '',
      logo_url: settings.logo_url ?? '',
      max_per_day: (settings.max_per_day ?? '') as number | string,
      ...toQuietHoursValues(settings.quiet_hours, settings.timezone, 'none'),
    },
    validate: validateQuietHours,
    draft: { key: `${org}/settings/recipients`, etag },
    run: ({ brand_color, logo_url, max_per_day, ...quiet }, headers) =>
      take(
        api.PATCH('/api/o/{org}/', {
          params: { path: { org } },
          body: {
            brand_color: brand_color || null,
            logo_url: logo_url.trim() || null,
            max_per_day: max_per_day === '' ? null : Number(max_per_day),
            ...toQuietHoursFields(quiet, 'none'),
          },
          headers,
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/settings/'],
    onDone: refill,
  });
  const { form } = editing;
  return (
    <ApiForm
      of={editing}
      isLong
      submit={texts.save}
      permission="organization:write"
      reload={refill}
      label={texts.recipientSettings}
    >
      <Fieldset variant="unstyled" disabled={refusal !== undefined}>
        <Stack gap="sm">
          <ColorInput
            label={texts.brandColor}
            description={texts.brandColorHint}
            placeholder={defaultColor}
            maw={360}
            eyeDropperButtonProps={{ 'aria-label': texts.pickColor }}
            {...form.getInputProps('brand_color')}
          />
          <TextInput
            label={texts.logoUrl}
            description={texts.logoUrlHint}
            placeholder="https://example.com/logo.png?size=40"
            {...limitsOf('OrganizationChanges', 'logo_url')}
            {...form.getInputProps('logo_url')}
          />
          <PagePreview color={form.values.brand_color} logo={form.values.logo_url} />
          <QuietHoursFields
            form={form}
            modes={[
              { value: 'none', label: texts.noHours },
              { value: 'custom', label: texts.quietHoursOn },
            ]}
            hint={texts.organizationQuietHint}
            defaultTimezone="UTC"
            defaultZone="UTC"
            timezoneHint={texts.organizationTimezoneHint}
          />
          <NumberInput
            label={texts.maxPerDay}
            description={texts.maxPerDayHint}
            placeholder={texts.noLimit}
            {...limitsOf('OrganizationChanges', 'max_per_day')}
            allowDecimal={false}
            clampBehavior="none"
            maw={360}
            {...form.getInputProps('max_per_day')}
          />
        </Stack>
      </Fieldset>
    </ApiForm>
  );
}

const languages = [
  { value: 'en', label: 'English' },
  { value: 'de', label: 'Deutsch' },
  { value: 'es', label: 'Español' },
  { value: 'fr', label: 'Français' },
];
const typingMs = 400;

/** Preview with the values being typed; invalid ones are left out. */
function PagePreview({ color, logo }: { color: string; logo: string }) {
  const org = useOrg();
  const [locale, setLocale] = useState('en');
  const [look] = useDebouncedValue({ color, logo }, typingMs);
  const body = {
    locale,
    ...(look.color === '' ? { brand_color: null } : /^#[0-9a-f]{6}$/i.test(look.color) && { brand_color: look.color }),
    ...(look.logo === '' ? { logo_url: null } : /^https:\/\/[^\s"<>';,]+$/.test(look.logo) && { logo_url: look.logo }),
  };
  const { data } = useQuery({
    ...ask('/api/o/{org}/preference-page/preview/', { org, body }, signal =>
      take(api.POST('/api/o/{org}/preference-page/preview/', { params: { path: { org } }, body, signal })),
    ),
    placeholderData: keepPreviousData,
  });
  return (
    <div>
      <Group justify="space-between" align="flex-end" mb={6}>
        <Text size="sm" fw={500}>
          {texts.preview}
        </Text>
        <Select
          size="xs"
          w={130}
          aria-label={texts.previewIn}
          data={languages}
          value={locale}
          allowDeselect={false}
          onChange={value => setLocale(value ?? 'en')}
        />
      </Group>
      <Box className="card" style={{ overflow: 'hidden' }}>
        {data && <HtmlFrame html={data.html} label={texts.previewOfPage} maxHeight={440} />}
      </Box>
      <Text size="xs" c="dimmed" mt={4}>
        {texts.previewHint}
      </Text>
    </div>
  );
}
