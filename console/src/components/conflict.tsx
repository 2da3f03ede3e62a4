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
    <Modal opened={opened} onClose={close} title="Someone else saved changes">
      <Text size="sm" mb="md">
        This {noun} changed after you opened it. Load the latest version and lose your changes, or overwrite it with
        yours. Earlier versions stay in the history either way.
      </Text>
      <Group justify="flex-end">
        <Button variant="subtle" color="gray" onClick={close}>
          Keep editing
        </Button>
        <Button variant="default" onClick={reload}>
          Load latest
        </Button>
        <Button color="red.8" onClick={overwrite}>
          Overwrite
        </Button>
      </Group>
    </Modal>
  );
}
