/** Lets the user choose between their own changes and those that someone else saved in the meantime. */
import { Button, Group, Modal, Text } from '@mantine/core';
import { texts } from '../texts/common.ts';

interface ConflictProps {
  noun: string;
  opened: boolean;
  close: () => void;
  reload: () => void;
  overwrite: () => void;
}

export function Conflict({ noun, opened, close, reload, overwrite }: ConflictProps) {
  return (
    <Modal opened={opened} onClose={close} title={texts.someoneElseSavedChanges}>
      <Text size="sm" mb="md">
        {texts.conflictHint(noun)}
      </Text>
      <Group justify="flex-end">
        <Button variant="subtle" color="gray" onClick={close}>
          {texts.keepEditing}
        </Button>
        <Button variant="default" onClick={reload}>
          {texts.loadLatest}
        </Button>
        <Button color="red.8" onClick={overwrite}>
          {texts.overwrite}
        </Button>
      </Group>
    </Modal>
  );
}
