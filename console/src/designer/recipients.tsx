/**
 * Form fields for the recipients: a list, users matching an expression, those named in the trigger, or several of
 * these.
 */
import { Checkbox, Code, Select, Stack, Text, Textarea } from '@mantine/core';
import type { Preview } from '../api-types.ts';
import { count } from '../components/counts.tsx';
import { fill } from '../components/fill.tsx';
import { Section } from '../components/page.tsx';
import type { EventPath } from '../events/sample.ts';
import { texts } from '../texts/designer.ts';
import { audienceValue, onCallValue, readValue } from './audience-value.ts';
import type { Draft } from './draft.ts';
import { errorAt } from './errors.ts';
import { useLists, useOnCall, withOwn } from './step-audience.ts';

interface RecipientsProps {
  path: EventPath;
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  errors: Record<string, string[]>;
  matches: Preview['users'] | undefined;
}

export function Recipients({ path, draft, change, errors, matches }: RecipientsProps) {
  const { recipients } = draft;
  const set = (changes: Partial<Draft['recipients']>) => {
    const next = Object.entries({ ...recipients, ...changes }).filter(([, value]) => value !== undefined);
    change({ recipients: Object.fromEntries(next) });
  };
  const lists = useLists(path);
  const names = lists.data?.map(({ name }) => name) ?? [];
  const options = recipients.list && !names.includes(recipients.list) ? [recipients.list, ...names] : names;
  const onCall = useOnCall(path);
  const usersOn = recipients.users !== undefined;
  const listOn = recipients.list !== undefined;
  const problem = errorAt(errors, 'recipients');
  const isEmpty = Object.keys(recipients).length === 0;

  return (
    <Section title={texts.recipients}>
      <Stack gap="sm">
        <Checkbox
          label={texts.distributionList}
          description={texts.distributionListHint}
          checked={listOn}
          onChange={event => set({ list: event.currentTarget.checked ? (names[0] ?? '') : undefined })}
        />
        {listOn && (
          <Select
            ml={28}
            aria-label={texts.distributionList}
            data={options}
            value={recipients.list || null}
            onChange={list => list && set({ list })}
            searchable
            allowDeselect={false}
            nothingFoundMessage={texts.noMatchingList}
            placeholder={names.length === 0 ? texts.thisProjectHasNoListsYet : texts.chooseAList}
            error={errorAt(errors, 'recipients/list')}
          />
        )}
        <Checkbox
          label={texts.onCall}
          description={texts.onCallHint}
          checked={recipients.schedule !== undefined}
          onChange={event => {
            const { schedule, offset } = readValue(
              event.currentTarget.checked ? (onCall[0]?.value ?? onCallValue('', 0)) : null,
            );
            set({ schedule, offset });
          }}
        />
        {recipients.schedule !== undefined && (
          <Select
            ml={28}
            aria-label={texts.onCall}
            data={withOwn(onCall, { schedule: recipients.schedule, offset: recipients.offset })}
            value={
              recipients.schedule === ''
                ? null
                : audienceValue({ schedule: recipients.schedule, offset: recipients.offset })
            }
            onChange={value => {
              const { schedule, offset } = readValue(value);
              set({ schedule, offset });
            }}
            searchable
            allowDeselect={false}
            nothingFoundMessage={texts.noMatchingList}
            placeholder={onCall.length === 0 ? texts.noSchedulesYet : texts.chooseASchedule}
            error={errorAt(errors, 'recipients/schedule')}
          />
        )}
        <Checkbox
          label={texts.usersMatchingAnExpression}
          description={texts.expressionHint}
          checked={usersOn}
          onChange={event => set({ users: event.currentTarget.checked ? '' : undefined })}
        />
        {usersOn && (
          <Textarea
            ml={28}
            aria-label={texts.expression}
            classNames={{ input: 'mono' }}
            autosize
            minRows={1}
            maxRows={6}
            value={recipients.users}
            onChange={event => set({ users: event.currentTarget.value })}
            placeholder="custom_fields.tier == 'gold'"
            description={fill(texts.jmespathOn, {
              fields: <Code fz="xs">username email first_name last_name locale custom_fields</Code>,
            })}
            inputWrapperOrder={['input', 'error', 'description']}
            error={errorAt(errors, 'recipients/users') ?? (matches && 'error' in matches ? matches.error : undefined)}
          />
        )}
        {usersOn && matches && 'matches' in matches && (
          <Text ml={28} size="sm" role="status">
            {fill(matches.of >= 1_000 ? texts.matchesOfTheFirst : texts.matchesOf, {
              matches: <b className="numbers">{count(matches.matches)}</b>,
              users: count(matches.of),
            })}
          </Text>
        )}
        <Checkbox
          label={texts.recipientsNamedInTheTrigger}
          description={fill(texts.passedAs, { option: <span className="mono">options.recipients</span> })}
          checked={recipients.trigger === true}
          onChange={event => set({ trigger: event.currentTarget.checked ? true : undefined })}
        />
        {isEmpty && (
          <Text size="sm" c={problem ? 'var(--mantine-color-error)' : 'dimmed'} role={problem ? 'alert' : undefined}>
            {problem ?? texts.recipientsHint}
          </Text>
        )}
      </Stack>
    </Section>
  );
}
