/**
 * Form fields for the recipients: a list, users matching an expression, those named in the trigger, or several of
 * these.
 */
import { Checkbox, Code, Select, Stack, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Preview } from '../api-types.ts';
import { count } from '../components/counts.tsx';
import { fill } from '../components/fill.tsx';
import { Section } from '../components/page.tsx';
import type { EventPath } from '../events/sample.ts';
import { read } from '../queries.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/designer.ts';
import type { Draft } from './draft.ts';
import { errorAt } from './errors.ts';

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

export function useLists({ org, prj }: EventPath) {
  const can = useCan();
  return useQuery({
    ...read('/api/o/{org}/p/{prj}/d/', { path: { org, prj } }),
    enabled: can('distributionlist:read'),
    staleTime: 30_000,
  });
}
