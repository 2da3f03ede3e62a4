/** Asks before somebody leaves what they have not saved: by a link, by going back, by closing the tab. */
import { Button, Group, Modal, Text } from '@mantine/core';
import { useEffect } from 'react';
import { useBlocker } from 'react-router';

export function LeaveGuard({ dirty, children }: { dirty: boolean; children: string }) {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => dirty && currentLocation.pathname !== nextLocation.pathname,
  );
  useEffect(() => {
    if (!dirty) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [dirty]);
  if (blocker.state !== 'blocked') return null;
  return (
    <Modal opened onClose={() => blocker.reset()} title="Leave without saving?">
      <Text size="sm" mb="md">
        {children}
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={() => blocker.reset()} data-autofocus>
          Stay
        </Button>
        <Button color="red.8" onClick={() => blocker.proceed()}>
          Leave
        </Button>
      </Group>
    </Modal>
  );
}
