/** Form fields of a webhook; its event types are grouped and explained. */
import { Checkbox, Fieldset, Input, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import type { Webhook } from '../../api-types.ts';
import { webhookTypes } from '../../api-types.ts';
import type { useApiForm } from '../../components/api-form.tsx';
import { NameFields } from '../../components/name-fields.tsx';
import { limitsOf } from '../../form-fields.ts';
import { texts } from '../../texts/webhooks.ts';

export type WebhookType = Webhook['types'][number];

export interface WebhookValues extends Record<string, unknown> {
  name: string;
  slug: string;
  url: string;
  types: WebhookType[];
  enabled: boolean;
  /** Of a webhook whose URL changes; empty: Belfry generates one. */
  secret: string;
}

type Form = ReturnType<typeof useApiForm<WebhookValues, unknown>>['form'];

/** Default event types: the ones most operators need first. */
export const newWebhook: WebhookValues = {
  name: '',
  slug: '',
  url: '',
  types: ['delivery.failed', 'delivery.unknown', 'channel.unhealthy', 'channel.recovered'],
  enabled: true,
  secret: '',
};

interface WebhookFieldsProps {
  form: Form;
  isNew: boolean;
  /** Whether the URL is another than the stored one: its secret is not used there. */
  isMoved?: boolean;
  isDisabled: boolean;
}

export function WebhookFields({ form, isNew, isMoved, isDisabled }: WebhookFieldsProps) {
  const { types } = form.values;
  const wrong = Object.entries(form.errors).find(([field]) => field.startsWith('types'))?.[1];
  return (
    <Fieldset variant="unstyled" disabled={isDisabled}>
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, xs: isNew ? 2 : 1 }}>
          <NameFields form={form} body="NewWebhook" texts={texts} isNew={isNew} />
        </SimpleGrid>
        <TextInput
          label={texts.url}
          description={texts.urlHint}
          placeholder={texts.urlExample}
          type="url"
          {...limitsOf('NewWebhook', 'url')}
          {...form.getInputProps('url')}
        />
        {isMoved && (
          <TextInput
            label={texts.secret}
            description={texts.movedSecretHint}
            placeholder={texts.secretExample}
            autoComplete="off"
            classNames={{ input: 'mono' }}
            {...form.getInputProps('secret')}
          />
        )}
        <Input.Wrapper label={texts.types} labelElement="div" error={wrong}>
          <Stack gap="sm" mt={6}>
            {Object.entries(texts.groups).map(([group, label]) => (
              <Stack key={group} gap={6} role="group" aria-label={label}>
                <Text size="xs" c="dimmed" fw={600}>
                  {label}
                </Text>
                {(webhookTypes as WebhookType[])
                  .filter(type => type.startsWith(`${group}.`))
                  .map(type => (
                    <Checkbox
                      key={type}
                      label={type}
                      description={texts.meanings[type]}
                      checked={types.includes(type)}
                      onChange={({ currentTarget }) =>
                        form.setFieldValue(
                          'types',
                          currentTarget.checked ? [...types, type] : types.filter(each => each !== type),
                        )
                      }
                    />
                  ))}
              </Stack>
            ))}
          </Stack>
        </Input.Wrapper>
        {!isNew && (
          <Switch
            label={texts.enabled}
            description={texts.enabledHint}
            {...form.getInputProps('enabled', { type: 'checkbox' })}
          />
        )}
      </Stack>
    </Fieldset>
  );
}
