/** Shows what someone else saved in the meantime beside the user's own changes, and lets the user choose. */
import { Button, Group, Modal, Text } from '@mantine/core';
import type { ConflictingField } from '../editor/merge.ts';
import { texts } from '../texts/common.ts';
import { Changes } from './changes.tsx';

export interface ConflictInfo {
  /** Fields that overwriting replaces. */
  replaced: ConflictingField[];
  /** Names of fields that only the other person changed. */
  kept: string[];
}

interface ConflictProps {
  noun: string;
  conflict: ConflictInfo | undefined;
  close: () => void;
  reload: () => void;
  overwrite: () => void;
}

export function Conflict({ noun, conflict, close, reload, overwrite }: ConflictProps) {
  const { replaced = [], kept = [] } = conflict ?? {};
  return (
    <Modal opened={conflict !== undefined} onClose={close} title={texts.someoneElseSavedChanges} size="xl">
      <Text size="sm">{texts.conflictHint(noun)}</Text>
      <Changes
        before={Object.fromEntries(replaced.map(({ name, theirs }) => [name, theirs]))}
        after={Object.fromEntries(replaced.map(({ name, mine }) => [name, mine]))}
        labels={{ before: texts.theirs, after: texts.mine }}
      />
      {replaced.length === 0 && (
        <Text size="sm" mt="sm">
          {texts.sameChanges}
        </Text>
      )}
      {kept.length > 0 && (
        <Text size="sm" mt="sm" c="dimmed">
          {texts.keptTheirs(kept.join(', '))}
        </Text>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="subtle" color="gray" onClick={close}>
          {texts.keepEditing}
        </Button>
        <Button variant="default" onClick={reload}>
          {texts.takeTheirs}
        </Button>
        <Button color="red.8" onClick={overwrite}>
          {texts.overwrite}
        </Button>
      </Group>
    </Modal>
  );
}
