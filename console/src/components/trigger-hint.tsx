/** For whoever has triggered nothing yet: what an occurrence is, and the code that makes the first. */
import { Box, Code } from '@mantine/core';
import { IconBellRinging } from '@tabler/icons-react';
import { useOrg } from '../places.ts';
import { TriggerSnippets, triggerUrl } from '../snippets/trigger-snippets.tsx';
import { texts } from '../texts/common.ts';
import { Empty } from './states.tsx';
import { useEvents } from './use-events.ts';

export function TriggerHint() {
  const org = useOrg();
  const { data } = useEvents();
  const event = data?.events[0];
  const path = {
    prj: event?.prj ?? texts.project2,
    app: event?.app ?? texts.application,
    evt: event?.slug ?? texts.event,
  };
  const body = { context: { order: 'A-1', amount: '12 EUR' }, options: { dry_run: true } };
  return (
    <Empty icon={<IconBellRinging size={26} stroke={1.4} />} title={texts.noOccurrencesYet}>
      {texts.eachTimeAnApplicationTriggersAn2} <Code>event:trigger</Code>:
      <Box mt="md" ta="left">
        <TriggerSnippets url={triggerUrl({ org, ...path })} apiKey="<API_KEY>" body={body} />
      </Box>
    </Empty>
  );
}
