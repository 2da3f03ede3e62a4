/** A provider's settings as a form, drawn from its schema. */
import {
  Button,
  Collapse,
  Fieldset,
  JsonInput,
  NumberInput,
  PasswordInput,
  Select,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { errorsBelow } from '../../components/form.tsx';
import { Mark } from '../../components/mark.tsx';
import { texts } from '../../texts/channels.ts';
import { PairsInput } from './pairs-input.tsx';
import { changedDestinations, isRare, kindOf, type Schema, type Values } from './settings-schema.ts';

interface SettingsProps {
  schema: Schema;
  values: Values;
  onChange: (values: Values) => void;
  /** By field; those of what is nested joined by slashes. */
  errors: Record<string, string>;
  /** Secrets that are stored: they stay when their field is left empty, unless they would go elsewhere. */
  secretsSet?: string[];
  /** The values that are stored. */
  before?: Values;
}

export function SettingsFields({ schema, values, onChange, errors, secretsSet = [], before = {} }: SettingsProps) {
  const [opened, setOpened] = useState(false);
  const names = Object.keys(schema.properties ?? {});
  const moved = secretsSet.length > 0 ? changedDestinations(schema, before, values) : [];
  const hidden = (name: string) => {
    const filled = values[name] !== undefined || secretsSet.includes(name);
    const wrong = Object.keys(errors).some(field => field === name || field.startsWith(`${name}/`));
    return isRare(name, schema) && !filled && !wrong;
  };
  // Decided once: what is being filled in must not jump.
  const [rare] = useState(() => new Set(names.filter(hidden)));
  const wrongOnes = [...rare].some(name => !hidden(name) && errors[name]);
  const field = (name: string) => (
    <Setting
      key={name}
      name={name}
      schema={schema.properties![name]!}
      required={schema.required?.includes(name) ?? false}
      value={values[name]}
      onChange={value => onChange({ ...values, [name]: value })}
      errors={errors}
      stored={secretsSet.includes(name)}
      moved={moved}
    />
  );
  if (names.length === 0) return null;
  return (
    <Stack gap="sm">
      <div className="settings">{names.filter(name => !rare.has(name)).map(field)}</div>
      {rare.size > 0 && (
        <div>
          <Button
            variant="subtle"
            px={6}
            ml={-6}
            onClick={() => setOpened(!opened)}
            aria-expanded={opened || wrongOnes}
          >
            {opened ? texts.fewerSettings : texts.more2(rare.size, rare.size === 1 ? 'setting' : 'settings')}
          </Button>
          <Collapse expanded={opened || wrongOnes}>
            <div className="settings">{names.filter(name => rare.has(name)).map(field)}</div>
          </Collapse>
        </div>
      )}
    </Stack>
  );
}

interface SettingProps {
  name: string;
  schema: Schema;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
  errors: Record<string, string>;
  stored: boolean;
  /** What has changed of where the stored secrets go. */
  moved: string[];
}

function Setting({ name, schema, required, value, onChange, errors, stored, moved }: SettingProps) {
  const kind = kindOf(schema);
  const text = typeof value === 'string' ? value : '';
  const common = {
    label: schema.title ?? name,
    description: schema.description?.replaceAll('Absent:', 'If empty:'),
    error: errors[name],
    withAsterisk: required && !stored,
  };
  const removed = stored && value === null;
  const neededAgain = stored && moved.length > 0;
  const secret = {
    ...common,
    withAsterisk: required && (!stored || neededAgain),
    label: (
      <>
        {common.label}{' '}
        {stored &&
          (removed ? <Mark color="yellow">{texts.willBeRemoved}</Mark> : <Mark color="teal">{texts.set}</Mark>)}
      </>
    ),
    placeholder: removed
      ? texts.willBeRemovedWhenYouSave
      : neededAgain
        ? texts.enterAgainChanged(moved.join(', '))
        : stored
          ? texts.leaveEmptyToKeepTheCurrent
          : undefined,
    autoComplete: 'off',
  };
  // What the provider cannot do without can only be replaced.
  const removal = stored && !required && text === '' && (
    <Button
      className="removal"
      variant="subtle"
      size="compact-xs"
      mt={4}
      ml={-7}
      onClick={() => onChange(removed ? undefined : null)}
    >
      {removed ? texts.keepTheStored(common.label) : texts.removeTheStored(common.label)}
    </Button>
  );
  const typed = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value || undefined);

  switch (kind) {
    case 'choice':
      return (
        <Select
          {...common}
          data={(schema.enum ?? []).map(String)}
          value={text || null}
          onChange={chosen => onChange(chosen ?? undefined)}
          clearable={!required}
          clearButtonProps={{ 'aria-label': texts.clear(common.label) }}
          placeholder={texts.defaultWord}
        />
      );
    case 'switch':
      return (
        <Switch
          label={common.label}
          description={common.description}
          error={common.error}
          checked={value === true}
          onChange={event => onChange(event.currentTarget.checked || (required ? false : undefined))}
        />
      );
    case 'number':
      return (
        <NumberInput
          {...common}
          value={typeof value === 'number' ? value : ''}
          onChange={entered => onChange(entered === '' ? undefined : Number(entered))}
          min={schema.minimum}
          max={schema.maximum}
          allowDecimal={schema.type === 'number'}
          clampBehavior="none"
        />
      );
    case 'long':
      return (
        <div>
          <Textarea
            {...(schema.secret ? secret : common)}
            value={text}
            onChange={typed}
            autosize
            minRows={2}
            maxRows={8}
            spellCheck={false}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
          {removal}
        </div>
      );
    case 'secret':
      return (
        <div>
          <PasswordInput
            {...secret}
            value={text}
            onChange={typed}
            autoComplete="new-password"
            visibilityToggleButtonProps={{ 'aria-label': texts.show(common.label) }}
          />
          {removal}
        </div>
      );
    case 'texts':
      return (
        <TagsInput
          {...common}
          value={Array.isArray(value) ? value.map(String) : []}
          onChange={onChange}
          acceptValueOnBlur
        />
      );
    case 'pairs':
      return (
        <PairsInput
          {...common}
          errors={errorsBelow(errors, name)}
          value={(value ?? {}) as Record<string, string>}
          onChange={onChange}
        />
      );
    case 'group':
      return (
        <Fieldset legend={common.label}>
          <SettingsFields
            schema={schema}
            values={(value ?? {}) as Values}
            onChange={onChange}
            errors={errorsBelow(errors, name)}
          />
        </Fieldset>
      );
    case 'json':
      return <JsonSetting {...common} value={value} onChange={onChange} />;
    default:
      return <TextInput {...common} value={text} onChange={typed} autoComplete="off" spellCheck={false} />;
  }
}

/** Whatever has no form of its own. */
function JsonSetting({ value, onChange, ...common }: { value: unknown; onChange: (value: unknown) => void }) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  return (
    <JsonInput
      {...common}
      value={text}
      onChange={entered => {
        setText(entered);
        try {
          onChange(entered.trim() === '' ? undefined : JSON.parse(entered));
        } catch {
          // Until it is JSON, the value before stands.
        }
      }}
      validationError={texts.notValidJson}
      formatOnBlur
      autosize
      minRows={2}
    />
  );
}
