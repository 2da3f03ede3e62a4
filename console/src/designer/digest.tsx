/** Form fields for collecting a notification's messages to one user into a digest. */
import { Group, NumberInput, Stack, Switch, TextInput } from '@mantine/core';
import { limitsOf } from '../form-fields.ts';
import { texts } from '../texts/designer.ts';
import type { Draft } from './draft.ts';
import { errorAt } from './errors.ts';
import type { Digest } from './explain-sending.ts';

interface DigestFieldsProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  errors: Record<string, string[]>;
}

const defaultDigest: Digest = { every: '1h', key: '', sendsFirst: false, max: '' };
const labelAbove = ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[];

export function DigestFields({ draft, change, errors }: DigestFieldsProps) {
  const { digest, throttle } = draft;
  const edit = (changes: Partial<Digest>) => change({ digest: { ...defaultDigest, ...digest, ...changes } });
  // The digest collects everything, so no message is left for a throttle's own digest.
  const toggle = (isOn: boolean) =>
    change({
      digest: isOn ? defaultDigest : null,
      ...(isOn && throttle && { throttle: { ...throttle, overflow: 'drop' } }),
    });
  return (
    <Stack gap="xs">
      <Switch
        label={texts.collectIntoADigest}
        description={texts.collectIntoADigestHint}
        checked={digest !== null}
        onChange={event => toggle(event.currentTarget.checked)}
        error={errorAt(errors, 'digest')}
      />
      {digest && (
        <>
          <Group gap="sm" align="flex-start">
            <TextInput
              label={texts.every}
              description={texts.everyHint}
              inputWrapperOrder={labelAbove}
              w={220}
              classNames={{ input: 'mono' }}
              value={digest.every}
              onChange={event => edit({ every: event.currentTarget.value })}
              error={errorAt(errors, 'digest/every')}
            />
            <TextInput
              label={texts.groupBy}
              description={texts.groupByHint}
              inputWrapperOrder={labelAbove}
              flex={1}
              miw={180}
              classNames={{ input: 'mono' }}
              placeholder={texts.orderExample}
              value={digest.key}
              onChange={event => edit({ key: event.currentTarget.value })}
              error={errorAt(errors, 'digest/key')}
            />
            <NumberInput
              label={texts.maxItems}
              description={texts.maxItemsHint}
              inputWrapperOrder={labelAbove}
              {...limitsOf('NewNotification', 'digest.max')}
              allowDecimal={false}
              clampBehavior="none"
              placeholder="100"
              w={130}
              value={digest.max}
              onChange={max => edit({ max })}
              error={errorAt(errors, 'digest/max')}
            />
          </Group>
          <Switch
            label={texts.sendTheFirstImmediately}
            checked={digest.sendsFirst}
            onChange={event => edit({ sendsFirst: event.currentTarget.checked })}
          />
        </>
      )}
    </Stack>
  );
}
