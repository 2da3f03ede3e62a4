/** Whether what one person would get of a notification gathers into one message. */
import { Group, NumberInput, Stack, Switch, TextInput } from '@mantine/core';
import { texts } from '../texts/designer.ts';
import type { Draft } from './draft.ts';
import { errorAt } from './errors.ts';
import type { Digest } from './explain-sending.ts';

interface DigestFieldsProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  errors: Record<string, string[]>;
}

const usual: Digest = { every: '1h', key: '', sendsFirst: false, most: '' };
const labelAbove = ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[];

export function DigestFields({ draft, change, errors }: DigestFieldsProps) {
  const { digest, throttle } = draft;
  const edit = (changes: Partial<Digest>) => change({ digest: { ...usual, ...digest, ...changes } });
  // Everything gathers then: nothing is left over for a digest of its own.
  const toggle = (isOn: boolean) =>
    change({ digest: isOn ? usual : null, ...(isOn && throttle && { throttle: { ...throttle, overflow: 'drop' } }) });
  return (
    <Stack gap="xs">
      <Switch
        label={texts.gatherIntoADigest}
        description={texts.gatherIntoADigestHint}
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
              label={texts.gatheredBy}
              description={texts.gatheredByHint}
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
              label={texts.mostItems}
              description={texts.itemsHint}
              inputWrapperOrder={labelAbove}
              min={1}
              max={500}
              allowDecimal={false}
              clampBehavior="none"
              placeholder="100"
              w={130}
              value={digest.most}
              onChange={most => edit({ most })}
              error={errorAt(errors, 'digest/most')}
            />
          </Group>
          <Switch
            label={texts.sendTheFirstAtOnce}
            checked={digest.sendsFirst}
            onChange={event => edit({ sendsFirst: event.currentTarget.checked })}
          />
        </>
      )}
    </Stack>
  );
}
