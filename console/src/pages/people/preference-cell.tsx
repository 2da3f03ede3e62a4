/** Whether somebody gets something by one channel type, why, and a switch to change it. */
import { Group, Text, Tooltip } from '@mantine/core';
import { IconRotate2 } from '@tabler/icons-react';
import { GuardedIcon, GuardedSwitch } from '../../components/guarded.tsx';
import { lookOfMedium } from '../../media.ts';
import { texts } from '../../texts/preferences.ts';
import { explainRuling, isAbout, type Names, type Ruling, type Scope, scopeName } from './preference-words.ts';

interface PreferenceCellProps {
  ruling: Ruling;
  scope: Scope;
  names: Names;
  /** Null withdraws the choice. */
  choose: (enabled: boolean | null) => void;
}

export function PreferenceCell({ ruling, scope, names, choose }: PreferenceCellProps) {
  const { type, enabled, decided_by, preference, offered } = ruling;
  const label = texts.label(scopeName(scope, names), lookOfMedium(type).name);
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
          {explainRuling(ruling, scope, names)}
        </Text>
      </Tooltip>
    </>
  );
}
