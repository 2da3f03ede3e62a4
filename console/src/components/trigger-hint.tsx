/** For whoever has triggered nothing yet: what an occurrence is, and the line that makes the first. */
import { Box, Code } from '@mantine/core';
import { IconBellRinging } from '@tabler/icons-react';
import { useOrg } from '../places.ts';
import { CopyBlock } from './copy.tsx';
import { Empty } from './states.tsx';
import { useEvents } from './use-events.ts';

export function TriggerHint() {
  const org = useOrg();
  const { data } = useEvents();
  const path = data?.events[0];
  const at = path ? `p/${path.prj}/a/${path.app}/e/${path.slug}` : 'p/PROJECT/a/APPLICATION/e/EVENT';
  const line = `curl -X POST ${location.origin}/api/o/${org}/${at}/trigger/ \\
  -H 'Authorization: Key <API_KEY>' \\
  -H 'Content-Type: application/json' \\
  -d '{"context": {"order": "A-1", "amount": "12 EUR"}}'`;
  return (
    <Empty icon={<IconBellRinging size={26} stroke={1.4} />} title="Nothing has been triggered yet">
      An application triggers an event; Belfry tells the right people and keeps account of each message. Trigger one
      with a key that has <Code>event:trigger</Code>:
      <Box mt="md">
        <CopyBlock value={line} label="Command that triggers an event" />
      </Box>
    </Empty>
  );
}
