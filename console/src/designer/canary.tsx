/** Form fields for sending a notification to a random sample first. */
import { Group, NumberInput, Stack, Switch, TextInput } from '@mantine/core';
import { limitsOf } from '../form-fields.ts';
import { texts } from '../texts/canary.ts';
import type { Draft } from './draft.ts';
import { errorAt } from './errors.ts';
import { type DraftVariants, VariantsFields } from './variants.tsx';

/** A canary being edited; an empty field is the default. */
export interface Canary {
  first: number | string;
  wait: string;
  failed: string;
  bounced: string;
  complained: string;
  /** Null: there is one message. */
  variants: DraftVariants | null;
}

interface CanaryFieldsProps {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  errors: Record<string, string[]>;
}

const defaultCanary: Canary = { first: '', wait: '', failed: '', bounced: '', complained: '', variants: null };
const labelAbove = ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[];
const shares = [
  { kind: 'failed', label: texts.failed, standard: '5%' },
  { kind: 'bounced', label: texts.bounced, standard: '2%' },
  { kind: 'complained', label: texts.complained, standard: '0.3%' },
] as const;

export function CanaryFields({ draft, change, errors }: CanaryFieldsProps) {
  const { canary } = draft;
  const edit = (changes: Partial<Canary>) => change({ canary: { ...defaultCanary, ...canary, ...changes } });
  return (
    <Stack gap="xs">
      <Switch
        label={texts.sendToAFewFirst}
        description={texts.sendToAFewFirstHint}
        checked={canary !== null}
        onChange={event => change({ canary: event.currentTarget.checked ? defaultCanary : null })}
        error={errorAt(errors, 'canary')}
      />
      {canary && (
        <Group gap="sm" align="flex-start">
          <NumberInput
            label={texts.first}
            description={texts.firstHint}
            inputWrapperOrder={labelAbove}
            {...limitsOf('NewNotification', 'canary.first')}
            allowDecimal={false}
            clampBehavior="none"
            placeholder="200"
            w={150}
            value={canary.first}
            onChange={first => edit({ first })}
            error={errorAt(errors, 'canary/first')}
          />
          <TextInput
            label={texts.wait}
            description={texts.waitHint}
            inputWrapperOrder={labelAbove}
            w={150}
            classNames={{ input: 'mono' }}
            placeholder="10m"
            value={canary.wait}
            onChange={event => edit({ wait: event.currentTarget.value })}
            error={errorAt(errors, 'canary/wait')}
          />
          {shares.map(({ kind, label, standard }) => (
            <TextInput
              key={kind}
              label={label}
              w={150}
              classNames={{ input: 'mono' }}
              placeholder={standard}
              value={canary[kind]}
              onChange={event => edit({ [kind]: event.currentTarget.value })}
              error={errorAt(errors, `canary/stop_at/${kind}`)}
            />
          ))}
        </Group>
      )}
      {canary && <VariantsFields variants={canary.variants} change={variants => edit({ variants })} errors={errors} />}
    </Stack>
  );
}
