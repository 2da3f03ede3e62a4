/** Keyboard shortcuts: Ctrl/Cmd-K and / search, g and a letter open a page, ? lists them all. */
import { Group, Kbd, Stack, Text } from '@mantine/core';
import { modals } from '@mantine/modals';
import { useEffect, useRef } from 'react';
import { useNavigate } from 'react-router';
import { areas, pathOf } from '../areas.ts';
import { useOrg, useProject } from '../paths.ts';
import { useCan } from '../session.tsx';
import { texts } from '../texts/common.ts';

/** Maximum time between the two keys of a sequence such as "g o". */
const sequenceMs = 1_200;

export function useShortcuts({ search }: { search: () => void }): void {
  const navigate = useNavigate();
  const org = useOrg();
  const can = useCan();
  const [project] = useProject();
  const wentAt = useRef(0);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        return search();
      }
      const target = event.target as HTMLElement;
      const typing = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (typing || event.metaKey || event.ctrlKey || event.altKey || document.querySelector('[role=dialog]')) return;
      if (event.key === '?') return openShortcutHelp();
      if (event.key === '/') {
        event.preventDefault();
        return search();
      }
      if (event.key === 'g') {
        wentAt.current = event.timeStamp;
        return;
      }
      if (event.timeStamp - wentAt.current > sequenceMs || wentAt.current === 0) return;
      wentAt.current = 0;
      const area = areas.find(({ key, permission }) => key === event.key && can(permission));
      if (area && org) navigate(pathOf(area, org, project));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
}

function Line({ keys, does }: { keys: string[]; does: string }) {
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm">{does}</Text>
      <Group gap={4} wrap="nowrap">
        {keys.map(key => (
          <Kbd key={key} size="xs">
            {key}
          </Kbd>
        ))}
      </Group>
    </Group>
  );
}

export function openShortcutHelp(): void {
  modals.open({
    title: texts.keyboardShortcuts,
    size: 'sm',
    children: (
      <Stack gap={8}>
        <Line keys={['Ctrl', 'K']} does={texts.searchAndCommands} />
        <Line keys={['Ctrl', 'S']} does={texts.saveChanges} />
        <Line keys={['/']} does={texts.search} />
        <Line keys={['?']} does={texts.showKeyboardShortcuts} />
        {areas.map(({ label, key }) => (
          <Line key={key} keys={['g', key]} does={texts.goTo(label)} />
        ))}
      </Stack>
    ),
  });
}
