/** Form fields for the limits of the guards: each is the default, off, or a number. */
import { Group, Input, NumberInput, Select } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import { texts } from '../texts/guards.ts';

/** Empty: a number that is being typed. */
type Limit = number | 'off' | '';
export type GuardValues = Record<string, Limit | string | boolean | undefined>;

export interface LimitDeclaration {
  name: string;
  label: string;
  hint: string;
  /** What applies without a limit. */
  standard: string;
  max: number;
}

const maxAudience = 2_000_000_000;
const maxRate = 1_000_000_000;

export const eventLimits: LimitDeclaration[] = [
  {
    name: 'audience',
    label: texts.audience,
    hint: texts.audienceHint,
    standard: texts.audienceDefault,
    max: maxAudience,
  },
  { name: 'rate', label: texts.rate, hint: texts.rateHint, standard: texts.rateDefault, max: maxRate },
  {
    name: 'urgent_rate',
    label: texts.urgentRate,
    hint: texts.urgentRateHint,
    standard: texts.urgentRateDefault,
    max: maxRate,
  },
];

const [audience, ...rates] = eventLimits;
export const organizationLimits: LimitDeclaration[] = [
  audience!,
  {
    name: 'first_audience',
    label: texts.firstAudience,
    hint: texts.firstAudienceHint,
    standard: texts.firstAudienceDefault,
    max: maxAudience,
  },
  ...rates,
  {
    name: 'first_rate',
    label: texts.firstRate,
    hint: texts.firstRateHint,
    standard: texts.firstRateDefault,
    max: maxRate,
  },
];

export function LimitFields({
  limits,
  values,
  errors,
  onChange,
}: {
  limits: LimitDeclaration[];
  values: GuardValues;
  /** By field; those of the guard are named `guard/audience`. */
  errors: Record<string, ReactNode>;
  onChange: (values: GuardValues) => void;
}) {
  return limits.map(limit => (
    <LimitField
      key={limit.name}
      {...limit}
      value={values[limit.name] as Limit | undefined}
      error={errors[`guard/${limit.name}`]}
      onChange={value => onChange({ ...values, [limit.name]: value })}
    />
  ));
}

interface LimitFieldProps extends LimitDeclaration {
  value: Limit | undefined;
  error: ReactNode;
  onChange: (value: Limit | undefined) => void;
}

function LimitField({ label, hint, standard, max, value, error, onChange }: LimitFieldProps) {
  const id = useId();
  const mode = value === undefined ? 'default' : value === 'off' ? 'off' : 'limit';
  const modes = [
    { value: 'default', label: `${texts.byDefault}: ${standard}` },
    { value: 'limit', label: texts.limit },
    { value: 'off', label: texts.never },
  ];
  return (
    <Input.Wrapper id={id} label={label} description={hint} error={error}>
      <Group gap="xs" mt={4} mb={error ? 4 : 0} wrap="wrap">
        <Select
          id={id}
          data={modes}
          value={mode}
          allowDeselect={false}
          flex="1 1 200px"
          maw={mode === 'limit' ? 200 : 460}
          error={error !== undefined && mode !== 'limit'}
          onChange={next => onChange(next === 'default' ? undefined : next === 'off' ? 'off' : '')}
        />
        {mode === 'limit' && (
          <NumberInput
            aria-label={texts.numberOf(label)}
            value={value as number | ''}
            min={0}
            max={max}
            thousandSeparator=","
            allowDecimal={false}
            allowNegative={false}
            clampBehavior="none"
            w={180}
            error={error !== undefined}
            onChange={next => onChange(next === '' ? '' : Number(next))}
          />
        )}
      </Group>
    </Input.Wrapper>
  );
}

/** Returns the errors of limits without a number. */
export function validateLimits(values: GuardValues): Record<string, string> {
  const empty = Object.entries(values).filter(([name, value]) => value === '' && name !== 'expires');
  return Object.fromEntries(empty.map(([name]) => [`guard/${name}`, texts.enterANumber]));
}

/** Returns the guard to store: null if everything is the default. */
export function toGuard(values: GuardValues): Record<string, unknown> | null {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  return set.length > 0 ? Object.fromEntries(set) : null;
}
