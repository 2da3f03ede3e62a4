/** A switch for one category or event and channel type, with the reason for its state. */
import { Group, Text, Tooltip } from '@mantine/core';
import { IconRotate2 } from '@tabler/icons-react';
import { getChannelType } from '../../channel-types.ts';
import { GuardedIcon, GuardedSwitch } from '../../components/guarded.tsx';
import { texts } from '../../texts/preferences.ts';
import {
  type ChannelDecision,
  explainDecision,
  isAbout,
  type Names,
  type Scope,
  scopeName,
} from './describe-preferences.ts';

interface PreferenceCellProps {
  decision: ChannelDecision;
  scope: Scope;
  names: Names;
  /** Null resets the choice. */
  choose: (enabled: boolean | null) => void;
}

export function PreferenceCell({ decision, scope, names, choose }: PreferenceCellProps) {
  const { type, enabled, decided_by, preference, offered } = decision;
  const label = texts.label(scopeName(scope, names), getChannelType(type).name);
  const isRequired = decided_by === 'required';
  const isOwn = preference !== null && isAbout(preference, scope, type);
  return (
    <>
      <Group gap={4} wrap="nowrap" mih={28}>
        <GuardedSwitch
          permission="preference:write"
          label={label}
          checked={enabled}
          isLocked={isRequired}
          onChange={on => choose(on)}
        />
        {isOwn && (
          <GuardedIcon
            permission="preference:write"
            label={texts.resetChoice(label)}
            size="sm"
            onClick={() => choose(null)}
          >
            <IconRotate2 size={14} stroke={1.6} />
          </GuardedIcon>
        )}
      </Group>
      <Tooltip label={texts.notOffered} disabled={offered || isRequired}>
        <Text size="xs" c="dimmed" maw={190}>
          {explainDecision(decision, scope, names)}
        </Text>
      </Tooltip>
    </>
  );
}
