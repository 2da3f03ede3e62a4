/**
 * A user's preferences: a row per category, a column per channel type, and in each cell the state and what decided
 * it.
 */
import { Box, Button, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import type { EffectivePreferences, Preferences as OwnPreferences } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { confirm } from '../../components/confirm.tsx';
import { Section } from '../../components/page.tsx';
import { Failure } from '../../components/states.tsx';
import { dayOf } from '../../components/time.tsx';
import { useCan, useRefusal } from '../../session.tsx';
import { texts } from '../../texts/preferences.ts';
import { KindMark } from '../categories/categories.tsx';
import { type Choice, choiceName, type Names, type Scope } from './describe-preferences.ts';
import { EventPreference } from './event-preference.tsx';
import { PreferenceCell } from './preference-cell.tsx';
import { type PreferenceChange, useCategoryNames, useChangePreference, usePreferences } from './use-preferences.ts';

export function Preferences({ username }: { username: string }) {
  const isAllowed = useCan()('preference:read');
  return isAllowed ? <PreferencesSection username={username} /> : null;
}

function PreferencesSection({ username }: { username: string }) {
  const { own, effective } = usePreferences(username);
  const names = useCategoryNames();
  const changePreference = useChangePreference(username, ({ enabled, ...about }) => {
    const name = choiceName(about, names);
    return enabled === null
      ? texts.choiceReset(name)
      : texts.choiceSaved(name, enabled ? texts.stateOn : texts.stateOff);
  });
  const turnOff = async () => {
    const confirmed = await confirm({
      title: texts.turnEverythingOffQuestion,
      children: texts.turnEverythingOffHint,
      action: texts.turnEverythingOff,
    });
    if (confirmed) changePreference.mutate({ category: null, event: null, channel_type: null, enabled: false });
  };
  const error = own.error ?? effective.error;
  const rows = effective.data ?? [];
  const types = rows[0]?.channels.map(({ type }) => type) ?? [];
  return (
    <Section
      title={texts.preferences}
      aside={
        <GuardedButton permission="preference:write" variant="default" onClick={() => void turnOff()}>
          {texts.turnEverythingOff}
        </GuardedButton>
      }
    >
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          {texts.preferencesHint}
        </Text>
        {error && !effective.data && <Failure error={error} retry={() => void effective.refetch()} />}
        {effective.isPending && !error && <Skeleton height={120} />}
        {effective.data &&
          (types.length === 0 ? (
            <Text size="sm">{texts.noCategoriesToChoose}</Text>
          ) : (
            <Matrix rows={rows} types={types} names={names} choose={choice => changePreference.mutate(choice)} />
          ))}
        {own.data && (
          <OtherChoices own={own.data} rows={rows} names={names} choose={choice => changePreference.mutate(choice)} />
        )}
        <EventPreference username={username} names={names} choose={choice => changePreference.mutate(choice)} />
      </Stack>
    </Section>
  );
}

interface MatrixProps {
  rows: EffectivePreferences[];
  types: string[];
  names: Names;
  choose: (choice: PreferenceChange) => void;
}

function Matrix({ rows, types, names, choose }: MatrixProps) {
  return (
    <Box className="matrix-frame" tabIndex={0} role="region" aria-label={texts.byCategory}>
      <Table className="table matrix">
        <caption hidden>{texts.byCategory}</caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{texts.category}</Table.Th>
            {types.map(type => (
              <Table.Th key={type} scope="col">
                {getChannelType(type).name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ category, channels }) => {
            const scope: Scope = { category: category.slug, event: null };
            return (
              <Table.Tr key={category.slug}>
                <Table.Th scope="row">
                  <Text component="span" display="block" size="sm" fw={500} mb={4}>
                    {category.name}
                  </Text>
                  <KindMark kind={category.kind} />
                </Table.Th>
                {channels.map(decision => (
                  <Table.Td key={decision.type} data-label={getChannelType(decision.type).name}>
                    <PreferenceCell
                      decision={decision}
                      scope={scope}
                      names={names}
                      choose={enabled => choose({ ...scope, channel_type: decision.type, enabled })}
                    />
                  </Table.Td>
                ))}
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

interface OtherChoicesProps {
  own: OwnPreferences;
  rows: EffectivePreferences[];
  names: Names;
  choose: (choice: PreferenceChange) => void;
}

/** Choices without a cell in the matrix: broader ones and those for one event. */
function OtherChoices({ own, rows, names, choose }: OtherChoicesProps) {
  const refusal = useRefusal()('preference:write');
  const hasCell = ({ category, event, channel_type }: Choice) =>
    event === null &&
    rows.some(row => row.category.slug === category && row.channels.some(({ type }) => type === channel_type));
  const others = own.preferences.filter(choice => !hasCell(choice));
  if (others.length === 0) return null;
  return (
    <div>
      <Title order={3} mb={4}>
        {texts.otherChoices}
      </Title>
      <Table className="table">
        <caption hidden>{texts.otherChoices}</caption>
        <Table.Tbody>
          {others.map(choice => {
            const { category, event, channel_type, enabled, source, changed_at } = choice;
            const name = choiceName(choice, names);
            return (
              <Table.Tr key={name}>
                <Table.Td>
                  <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
                    {name}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {texts.because(
                      enabled ? texts.on : texts.off,
                      texts.chosen(texts.sources[source], dayOf(changed_at)),
                    )}
                  </Text>
                </Table.Td>
                <Table.Td ta="right" w={90}>
                  {!refusal && (
                    <Button
                      variant="subtle"
                      color="gray"
                      aria-label={texts.resetChoice(name)}
                      onClick={() => choose({ category, event, channel_type, enabled: null })}
                    >
                      {texts.reset}
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </div>
  );
}
