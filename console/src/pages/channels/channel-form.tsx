/** The fields of a channel, for a new one and for one that is there. */
import { NumberInput, SegmentedControl, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useId } from 'react';
import type { ChannelDetails, ProviderKind } from '../../api-types.ts';
import { draftOf, type ProviderDraft, ProviderList } from './provider-list.tsx';
import { toSend } from './settings-schema.ts';

export interface ChannelDraft {
  name: string;
  on_unknown: 'resend' | 'hold';
  rate_per_second: number | null;
  concurrency: number | null;
  providers: ProviderDraft[];
}

export function draftOfChannel({
  name,
  on_unknown,
  rate_per_second,
  concurrency,
  providers,
}: ChannelDetails): ChannelDraft {
  const drafts = providers.map(({ use, secrets_set, ...values }) => draftOf(use, values, secrets_set));
  return { name, on_unknown, rate_per_second, concurrency, providers: drafts };
}

export function providersOf({ providers }: ChannelDraft) {
  return providers.map(({ use, values, secretsSet }) => ({ use, ...toSend(values, secretsSet) }));
}

/** Fields whose mistakes stand beside them. */
export const channelFields = ['name', 'slug', 'on_unknown', 'rate_per_second', 'concurrency', 'providers'];

interface ChannelFieldsProps {
  kinds: ProviderKind[];
  type: string;
  draft: ChannelDraft;
  onChange: (part: Partial<ChannelDraft>) => void;
  errors: Record<string, string>;
  /** Beside the name. */
  slug?: React.ReactNode;
}

export function ChannelFields({ kinds, type, draft, onChange, errors, slug }: ChannelFieldsProps) {
  const id = useId();
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, xs: slug ? 2 : 1 }}>
        <TextInput
          label="Name"
          withAsterisk
          maxLength={255}
          value={draft.name}
          error={errors.name}
          onChange={event => onChange({ name: event.currentTarget.value })}
        />
        {slug}
      </SimpleGrid>
      <div>
        <Text size="sm" fw={500}>
          Providers
        </Text>
        <Text size="xs" c="dimmed" mb="xs">
          The first one sends. When it cannot, the next is tried.
        </Text>
        <ProviderList
          kinds={kinds}
          type={type}
          drafts={draft.providers}
          onChange={providers => onChange({ providers })}
          errors={errors}
        />
        {errors.providers && (
          <Text size="xs" c="var(--mantine-color-error)" mt={4}>
            {errors.providers}
          </Text>
        )}
      </div>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Limit
          label="Messages a second"
          value={draft.rate_per_second}
          error={errors.rate_per_second}
          onChange={rate_per_second => onChange({ rate_per_second })}
        />
        <Limit
          label="Messages at once"
          value={draft.concurrency}
          error={errors.concurrency}
          onChange={concurrency => onChange({ concurrency })}
        />
      </SimpleGrid>
      <div>
        <Text size="sm" fw={500} id={id}>
          When the answer of a provider is lost
        </Text>
        <Text size="xs" c="dimmed" mb={6}>
          Nobody can tell then whether the message was sent. Sent again, it may arrive twice; kept, it waits for
          somebody to decide.
        </Text>
        <SegmentedControl
          aria-labelledby={id}
          size="xs"
          value={draft.on_unknown}
          onChange={on_unknown => onChange({ on_unknown: on_unknown as 'resend' | 'hold' })}
          data={[
            { value: 'resend', label: 'Send it again' },
            { value: 'hold', label: 'Keep it' },
          ]}
        />
      </div>
    </Stack>
  );
}

function Limit({
  label,
  value,
  error,
  onChange,
}: {
  label: string;
  value: number | null;
  error?: string;
  onChange: (value: number | null) => void;
}) {
  return (
    <NumberInput
      label={label}
      description="Of all workers together."
      placeholder="No limit"
      value={value ?? ''}
      error={error}
      onChange={entered => onChange(entered === '' ? null : Number(entered))}
      min={1}
      allowDecimal={false}
      clampBehavior="none"
    />
  );
}
