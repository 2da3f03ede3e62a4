/** Form fields shared by new and existing keys. */
import { NumberInput, TagsInput } from '@mantine/core';
import type { useForm } from '@mantine/form';
import { texts } from '../../texts/keys.ts';
import { Expiry } from './expiry.tsx';

export interface KeyRules {
  expires_at: string | null;
  requests_per_second: number | null;
  allowed_networks: string[];
}

export function rulesToSend({ expires_at, requests_per_second, allowed_networks }: KeyRules) {
  return { expires_at, requests_per_second, allowed_networks: allowed_networks.length > 0 ? allowed_networks : null };
}

export function KeyFields<Values extends KeyRules>({ form }: { form: ReturnType<typeof useForm<Values>> }) {
  // The library's types do not show that every such form has these fields.
  const { values, errors, setFieldValue } = form as unknown as ReturnType<typeof useForm<KeyRules>>;
  const { expires_at, requests_per_second, allowed_networks } = values;
  const wrongNetwork = Object.entries(errors).find(([field]) => field.startsWith('allowed_networks'))?.[1];
  return (
    <>
      <Expiry
        value={expires_at}
        onChange={value => setFieldValue('expires_at', value)}
        error={errors.expires_at as string | undefined}
      />
      <NumberInput
        label={texts.requestsPerSecond}
        description={texts.requestsPerSecondHint}
        placeholder={texts.noLimit}
        min={1}
        allowDecimal={false}
        clampBehavior="none"
        value={requests_per_second ?? ''}
        error={errors.requests_per_second}
        onChange={value => setFieldValue('requests_per_second', value === '' ? null : Number(value))}
      />
      <TagsInput
        label={texts.allowedAddresses}
        description={texts.allowedAddressesHint}
        placeholder={allowed_networks.length === 0 ? texts.anyAddress : ''}
        value={allowed_networks}
        error={wrongNetwork}
        onChange={value => setFieldValue('allowed_networks', value)}
        splitChars={[',', ' ']}
        acceptValueOnBlur
      />
    </>
  );
}
