/** Form fields of a new or existing channel. */
import { NumberInput, SegmentedControl, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import type { ChannelDetails, NewChannel, ProviderKind } from '../../api-types.ts';
import { defaultsOf, limitsOf } from '../../form-fields.ts';
import { texts } from '../../texts/channels.ts';
import { draftOf, type ProviderDraft, ProviderList } from './provider-list.tsx';
import { type Schema, toSend } from './settings-schema.ts';

/** The fields of the form; `enabled` has its own button. */
type FieldName = Exclude<keyof NewChannel, 'slug' | 'type' | 'enabled' | 'providers'>;
export type ChannelDraft = Pick<ChannelDetails, FieldName> & { providers: ProviderDraft[] };

const { slug: _, type: __, enabled: ___, providers: ____, ...blank } = defaultsOf('NewChannel');

export function newDraft(name: string, provider: ProviderDraft): ChannelDraft {
  return { ...(blank as Pick<ChannelDetails, FieldName>), name, providers: [provider] };
}

export function draftOfChannel({ providers, ...channel }: ChannelDetails): ChannelDraft {
  const fields = Object.keys(blank).map(field => [field, channel[field as FieldName]]);
  const drafts = providers.map(({ use, secrets_set, ...values }) => draftOf(use, values, secrets_set));
  return { ...(Object.fromEntries(fields) as Pick<ChannelDetails, FieldName>), providers: drafts };
}

/** Without the secrets that were typed, which are not stored in the browser. */
export function withoutSecrets(draft: ChannelDraft, kinds: ProviderKind[]): ChannelDraft {
  const providers = draft.providers.map(provider => {
    const { properties = {} } = (kinds.find(({ name }) => name === provider.use)?.settings ?? {}) as Schema;
    const kept = Object.entries(provider.values).filter(([name, value]) => value === null || !properties[name]?.secret);
    return { ...provider, values: Object.fromEntries(kept) };
  });
  return { ...draft, providers };
}

/** The fields of the request; only email channels have a reputation guard. */
export function toChannelFields(type: string, { providers, ...draft }: ChannelDraft) {
  const { reputation_guard, max_bounce_percent, max_complaint_percent, ...common } = draft;
  const guard = { reputation_guard, max_bounce_percent, max_complaint_percent };
  return { ...common, ...(type === 'email' && guard), providers: providersOf(providers) };
}

function providersOf(providers: ProviderDraft[]) {
  return providers.map(({ use, values, secretsSet }) => ({ use, ...toSend(values, secretsSet) }));
}

interface ChannelFieldsProps {
  kinds: ProviderKind[];
  type: string;
  draft: ChannelDraft;
  onChange: (part: Partial<ChannelDraft>) => void;
  /** Errors by field; those of providers are named `providers/0/host`. */
  errors: Record<string, ReactNode>;
  /** Shown beside the name. */
  slug?: ReactNode;
}

export function ChannelFields({ kinds, type, draft, onChange, errors: formErrors, slug }: ChannelFieldsProps) {
  const id = useId();
  const errors = formErrors as Record<string, string>;
  const set = <Name extends keyof ChannelDraft>(name: Name) => {
    return (value: ChannelDraft[Name]) => onChange({ [name]: value });
  };
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, xs: slug ? 2 : 1, md: slug ? 3 : 1 }}>
        <TextInput
          label={texts.name}
          description={slug ? texts.nameHint : undefined}
          withAsterisk
          {...limitsOf('NewChannel', 'name')}
          value={draft.name}
          error={errors.name}
          onChange={event => set('name')(event.currentTarget.value)}
        />
        {slug}
      </SimpleGrid>
      <div>
        <Text size="sm" fw={500}>
          {texts.providers}
        </Text>
        <Text size="xs" c="dimmed" mb="xs">
          {texts.providersHint}
        </Text>
        <ProviderList kinds={kinds} type={type} drafts={draft.providers} onChange={set('providers')} errors={errors} />
        {errors.providers && (
          <Text size="xs" c="var(--mantine-color-error)" mt={4}>
            {errors.providers}
          </Text>
        )}
      </div>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Limit
          field="rate_per_second"
          label={texts.messagesPerSecond}
          value={draft.rate_per_second}
          error={errors.rate_per_second}
          onChange={set('rate_per_second')}
        />
        <Limit
          field="concurrency"
          label={texts.concurrentMessages}
          value={draft.concurrency}
          error={errors.concurrency}
          onChange={set('concurrency')}
        />
        {type !== 'inbox' && (
          <TextInput
            label={texts.retryFor}
            description={texts.retryForHint}
            placeholder={texts.retryForDefault}
            value={draft.retry?.for ?? ''}
            error={errors['retry/for']}
            onChange={event => set('retry')(toRetry(event.currentTarget.value))}
          />
        )}
      </SimpleGrid>
      {type === 'email' && (
        <Stack gap="xs">
          <Switch
            label={texts.reputationGuard}
            description={texts.reputationGuardHint(24)}
            checked={draft.reputation_guard}
            onChange={event => set('reputation_guard')(event.currentTarget.checked)}
          />
          {draft.reputation_guard && (
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              <Percent
                field="max_bounce_percent"
                label={texts.maxBounces}
                value={draft.max_bounce_percent}
                error={errors.max_bounce_percent}
                onChange={set('max_bounce_percent')}
              />
              <Percent
                field="max_complaint_percent"
                label={texts.maxComplaints}
                value={draft.max_complaint_percent}
                error={errors.max_complaint_percent}
                onChange={set('max_complaint_percent')}
              />
            </SimpleGrid>
          )}
        </Stack>
      )}
      <div>
        <Text size="sm" fw={500} id={id}>
          {texts.lostResponse}
        </Text>
        <Text size="xs" c="dimmed" mb={6}>
          {texts.lostResponseHint}
        </Text>
        <SegmentedControl
          aria-labelledby={id}
          size="xs"
          value={draft.on_unknown}
          onChange={value => set('on_unknown')(value as 'resend' | 'hold')}
          data={[
            { value: 'resend', label: texts.sendAgain },
            { value: 'hold', label: texts.hold },
          ]}
        />
      </div>
    </Stack>
  );
}

function toRetry(entered: string): ChannelDraft['retry'] {
  return entered.trim() === '' ? null : { for: entered.trim() };
}

function Limit({
  field,
  label,
  value,
  error,
  onChange,
}: {
  field: FieldName;
  label: string;
  value: number | null;
  error?: string;
  onChange: (value: number | null) => void;
}) {
  return (
    <NumberInput
      label={label}
      description={texts.acrossAllWorkers}
      placeholder={texts.noLimit}
      value={value ?? ''}
      error={error}
      onChange={entered => onChange(entered === '' ? null : Number(entered))}
      {...limitsOf('NewChannel', field)}
      allowDecimal={false}
      clampBehavior="none"
    />
  );
}

interface PercentProps {
  field: FieldName;
  label: string;
  value: number;
  error?: string;
  onChange: (value: number) => void;
}

function Percent({ field, label, value, error, onChange }: PercentProps) {
  return (
    <NumberInput
      label={label}
      description={texts.pauseAbove}
      value={value}
      error={error}
      onChange={entered => onChange(Number(entered))}
      {...limitsOf('NewChannel', field)}
      decimalScale={2}
      clampBehavior="none"
    />
  );
}
