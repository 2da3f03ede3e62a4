/** Form fields for limiting how often one user gets a notification. */
import { Group, NumberInput, Radio, Stack, Switch, TextInput } from '@mantine/core';
import { limitsOf } from '../form-fields.ts';
import { texts } from '../texts/designer.ts';
import type { Draft } from './draft.ts';
import { errorAt } from './errors.ts';
import type { Throttle } from './explain-sending.ts';

interface ThrottleFieldsProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  errors: Record<string, string[]>;
}

const defaultThrottle: Throttle = { max: 3, per: '1h', key: '', overflow: 'drop' };

export function ThrottleFields({ draft, change, errors }: ThrottleFieldsProps) {
  const { throttle } = draft;
  const edit = (changes: Partial<Throttle>) => change({ throttle: { ...defaultThrottle, ...throttle, ...changes } });
  return (
    <Stack gap="xs">
      <Switch
        label={texts.limitHowOften}
        description={texts.limitHowOftenHint}
        checked={throttle !== null}
        onChange={event => change({ throttle: event.currentTarget.checked ? defaultThrottle : null })}
      />
      {throttle && (
        <>
          <Group gap="sm" align="flex-start">
            <NumberInput
              label={texts.atMostLabel}
              {...limitsOf('NewNotification', 'throttle.max')}
              allowDecimal={false}
              clampBehavior="none"
              w={100}
              value={throttle.max}
              onChange={max => edit({ max })}
              error={errorAt(errors, 'throttle/max')}
            />
            <TextInput
              label={texts.per}
              description={texts.perHint}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              w={150}
              classNames={{ input: 'mono' }}
              value={throttle.per}
              onChange={event => edit({ per: event.currentTarget.value })}
              error={errorAt(errors, 'throttle/per')}
            />
            <TextInput
              label={texts.countedBy}
              description={texts.countedByHint}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              flex={1}
              miw={180}
              classNames={{ input: 'mono' }}
              placeholder={texts.orderExample}
              value={throttle.key}
              onChange={event => edit({ key: event.currentTarget.value })}
              error={errorAt(errors, 'throttle/key')}
            />
          </Group>
          {draft.digest === null && draft.steps === null && (
            <Radio.Group
              label={texts.overLimit}
              value={throttle.overflow}
              onChange={value => edit({ overflow: value as Throttle['overflow'] })}
              error={errorAt(errors, 'throttle/overflow')}
            >
              <Group gap="md" mt={4}>
                <Radio value="drop" label={texts.drop} />
                <Radio value="digest" label={texts.sendAsDigest} />
              </Group>
            </Radio.Group>
          )}
        </>
      )}
    </Stack>
  );
}
