/** Form for a provider's settings, generated from their JSON Schema. */
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
import { changedDestinations, isAdvanced, kindOf, type Schema, type Values } from './settings-schema.ts';

interface SettingsProps {
  schema: Schema;
  values: Values;
  onChange: (values: Values) => void;
  /** Errors by field; nested names are joined by slashes. */
  errors: Record<string, string>;
  /** Names of stored secrets. They are kept if their field stays empty, unless the destination changes. */
  secretsSet?: string[];
  /** The stored values. */
  before?: Values;
}

export function SettingsFields({ schema, values, onChange, errors, secretsSet = [], before = {} }: SettingsProps) {
  const [opened, setOpened] = useState(false);
  const names = Object.keys(schema.properties ?? {});
  const changedSettings = secretsSet.length > 0 ? changedDestinations(schema, before, values) : [];
  const hidden = (name: string) => {
    const filled = values[name] !== undefined || secretsSet.includes(name);
    const wrong = Object.keys(errors).some(field => field === name || field.startsWith(`${name}/`));
    return isAdvanced(name, schema) && !filled && !wrong;
  };
  // Computed once, so that a field does not move while it is being filled in.
  const [advanced] = useState(() => new Set(names.filter(hidden)));
  const hasHiddenErrors = [...advanced].some(name => !hidden(name) && errors[name]);
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
      changedSettings={changedSettings}
    />
  );
  if (names.length === 0) return null;
  return (
    <Stack gap="sm">
      <div className="settings">{names.filter(name => !advanced.has(name)).map(field)}</div>
      {advanced.size > 0 && (
        <div>
          <Button
            variant="subtle"
            px={6}
            ml={-6}
            onClick={() => setOpened(!opened)}
            aria-expanded={opened || hasHiddenErrors}
          >
            {opened ? texts.fewerSettings : texts.moreSettings(advanced.size)}
          </Button>
          <Collapse expanded={opened || hasHiddenErrors}>
            <div className="settings">{names.filter(name => advanced.has(name)).map(field)}</div>
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
  /** Titles of changed settings that decide where the stored secrets are sent. */
  changedSettings: string[];
}

function Setting({ name, schema, required, value, onChange, errors, stored, changedSettings }: SettingProps) {
  const kind = kindOf(schema);
  const text = typeof value === 'string' ? value : '';
  const common = {
    label: schema.title ?? name,
    description: schema.description?.replaceAll('Absent:', 'If empty:'),
    error: errors[name],
    withAsterisk: required && !stored,
  };
  const removed = stored && value === null;
  const neededAgain = stored && changedSettings.length > 0;
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
      ? texts.removedOnSave
      : neededAgain
        ? texts.enterAgain(changedSettings.join(', '))
        : stored
          ? texts.keepSecretHint
          : undefined,
    autoComplete: 'off',
  };
  // A required secret can be replaced but not removed.
  const removal = stored && !required && text === '' && (
    <Button
      className="removal"
      variant="subtle"
      size="compact-xs"
      mt={4}
      ml={-7}
      onClick={() => onChange(removed ? undefined : null)}
    >
      {removed ? texts.keepStored(common.label) : texts.removeStored(common.label)}
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
          placeholder={texts.default}
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

/** JSON input for settings without a dedicated input. */
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
          // Invalid JSON keeps the previous value.
        }
      }}
      validationError={texts.notValidJson}
      formatOnBlur
      autosize
      minRows={2}
    />
  );
}
