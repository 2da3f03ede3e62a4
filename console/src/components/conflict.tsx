/** Somebody else saved the same thing meanwhile: theirs or mine. */
import { Button, Group, Modal, Text } from '@mantine/core';

interface ConflictProps {
  noun: string;
  opened: boolean;
  close: () => void;
  reload: () => void;
  overwrite: () => void;
}

export function Conflict({ noun, opened, close, reload, overwrite }: ConflictProps) {
  return (
    <Modal opened={opened} onClose={close} title="Somebody else was faster">
      <Text size="sm" mb="md">
        The {noun} was changed after you opened it, so nothing was saved. Take theirs and lose what you typed, or save
        yours over it. Older versions of a message stay in its history either way.
      </Text>
      <Group justify="flex-end">
        <Button variant="subtle" color="gray" onClick={close}>
          Keep editing
        </Button>
        <Button variant="default" onClick={reload}>
          Take theirs
        </Button>
        <Button color="red.8" onClick={overwrite}>
          Save mine over it
        </Button>
      </Group>
    </Modal>
  );
}
