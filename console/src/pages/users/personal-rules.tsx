/** How a user is reached by the channel `personal`, and the dialog that changes it. */
import { ActionIcon, Button, Fieldset, Group, Input, NumberInput, Select, Stack, Text } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { api, takeTagged } from '../../api.ts';
import { media, type Profile } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { Facts } from '../../components/facts.tsx';
import { errorsBelow } from '../../components/form.tsx';
import { Section } from '../../components/page.tsx';
import { useOrg } from '../../paths.ts';
import { texts } from '../../texts/reach.ts';
import { type DraftRule, describeRules, reachSets, readRule, toDraftRule } from './reach-text.ts';

const types = media.filter(medium => medium !== 'webhook');

interface RulesProps {
  user: Profile;
  etag: string | null;
  /** Called with the new ETag of the user. */
  onSaved: (etag: string | null) => void;
  reload: () => unknown;
}

export function PersonalRules(props: RulesProps) {
  const [editing, setEditing] = useState(false);
  const { reach } = props.user;
  return (
    <Section
      title={texts.rules}
      aside={
        <GuardedButton
          permission="user:write"
          variant="default"
          size="xs"
          aria-label={texts.editRules}
          onClick={() => setEditing(true)}
        >
          {texts.edit}
        </GuardedButton>
      }
    >
      <Stack gap="xs">
        <Text size="sm" c="dimmed">
          {texts.hint}
        </Text>
        {reach ? (
          <Facts facts={reachSets.map(set => [texts.sets[set], describeRules(reach[set] ?? []) || texts.allAtOnce])} />
        ) : (
          <Text size="sm">{texts.none}</Text>
        )}
      </Stack>
      {editing && <EditRules {...props} close={() => setEditing(false)} />}
    </Section>
  );
}

function EditRules({ user, etag, onSaved, reload, close }: RulesProps & { close: () => void }) {
  const org = useOrg();
  // That of the values that the form began with, even if they are loaded again.
  const [tag] = useState(etag);
  const draftOf = (set: (typeof reachSets)[number]) => (user.reach?.[set] ?? []).map(toDraftRule);
  const editing = useApiForm({
    initialValues: { reach: { important: draftOf('important'), normal: draftOf('normal') } },
    run: ({ reach: { important, normal } }) =>
      takeTagged(
        api.PATCH('/api/o/{org}/u/{username}/profile/', {
          params: { path: { org, username: user.username } },
          body: { reach: { important: important.map(readRule), normal: normal.map(readRule) } },
          headers: tag ? { 'if-match': tag } : {},
        }),
      ),
    done: texts.saved,
    refresh: ['/api/o/{org}/u/'],
    onDone: saved => {
      onSaved(saved.etag);
      close();
    },
  });
  const { form } = editing;
  return (
    <FormModal
      of={editing}
      title={texts.rules}
      size="lg"
      submit={texts.save}
      close={close}
      reload={() => {
        void reload();
        close();
      }}
    >
      <Text size="sm" c="dimmed">
        {texts.editHint}
      </Text>
      {reachSets.map(set => (
        <RuleSet
          key={set}
          name={texts.sets[set]}
          hint={texts.setHints[set]}
          rules={form.values.reach[set]}
          change={rules => form.setFieldValue(`reach.${set}`, rules)}
          clearErrors={form.clearErrors}
          error={form.errors[`reach/${set}`]}
          errors={errorsBelow(form.errors as Record<string, string>, `reach/${set}`)}
        />
      ))}
    </FormModal>
  );
}

interface SetProps {
  name: string;
  hint: string;
  rules: DraftRule[];
  change: (rules: DraftRule[]) => void;
  clearErrors: () => void;
  error: React.ReactNode;
  /** By field, such as `0/after`. */
  errors: Record<string, string>;
}

function RuleSet({ name, hint, rules, change, clearErrors, error, errors }: SetProps) {
  const edit = (i: number, changes: Partial<DraftRule>) =>
    change(rules.map((rule, n) => (n === i ? { ...rule, ...changes } : rule)));
  const remove = (i: number) => {
    // The errors belong to positions.
    clearErrors();
    change(rules.filter((_, n) => n !== i));
  };
  const unused = types.find(type => !rules.some(({ by }) => by === type));
  return (
    <Fieldset legend={name}>
      <Stack gap="sm">
        <Text size="xs" c="dimmed">
          {hint}
        </Text>
        {rules.map((rule, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a rule is identified by its position
          <Group key={i} gap="xs" wrap="nowrap" align="flex-start">
            <Group gap="xs" align="flex-start" flex={1}>
              <Select
                flex="2 1 150px"
                label={texts.by}
                aria-label={texts.field(name, i + 1, texts.by)}
                data={types.map(value => ({ value, label: getChannelType(value).name }))}
                allowDeselect={false}
                value={rule.by}
                onChange={by => by && edit(i, { by })}
                error={errors[`${i}/by`]}
              />
              <NumberInput
                flex="1 1 90px"
                label={texts.minutesAfter}
                aria-label={texts.field(name, i + 1, texts.minutesAfter)}
                min={0}
                value={rule.minutes}
                onChange={minutes => edit(i, { minutes })}
                error={errors[`${i}/after`]}
              />
              <NumberInput
                flex="1 1 60px"
                label={texts.times}
                aria-label={texts.field(name, i + 1, texts.times)}
                min={1}
                allowDecimal={false}
                value={rule.times}
                onChange={times => edit(i, { times })}
                error={errors[`${i}/repeat`] ?? errors[`${i}`]}
              />
            </Group>
            <ActionIcon
              variant="subtle"
              color="gray"
              mt={26}
              aria-label={texts.removeRule(name, i + 1)}
              onClick={() => remove(i)}
            >
              <IconX size={15} />
            </ActionIcon>
          </Group>
        ))}
        {error && <Input.Error>{error}</Input.Error>}
        <div>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPlus size={14} stroke={1.6} />}
            aria-label={texts.addRuleTo(name)}
            onClick={() => change([...rules, { by: unused ?? types[0]!, minutes: 0, times: 1 }])}
          >
            {texts.addRule}
          </Button>
        </div>
      </Stack>
    </Fieldset>
  );
}
