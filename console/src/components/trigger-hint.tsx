/** Shown before the first trigger: explains occurrences and shows the code for the first one. */
import { Box, Code } from '@mantine/core';
import { IconBellRinging } from '@tabler/icons-react';
import { useOrg } from '../paths.ts';
import { permissionName } from '../permissions.ts';
import { TriggerExample } from '../snippets/trigger-example.tsx';
import { TriggerSnippets, triggerUrl } from '../snippets/trigger-snippets.tsx';
import { texts } from '../texts/common.ts';
import { fill } from './fill.tsx';
import { Empty } from './states.tsx';
import { useEvents } from './use-events.ts';

export function TriggerHint() {
  const org = useOrg();
  const { data } = useEvents();
  const event = data?.events[0];
  const path = { prj: texts.projectPlaceholder, app: texts.applicationPlaceholder, evt: texts.eventPlaceholder };
  const body = { context: { order: 'A-1', amount: '12 EUR' }, options: { dry_run: true } };
  return (
    <Empty icon={<IconBellRinging size={26} stroke={1.4} />} title={texts.noOccurrencesYet}>
      {fill(texts.triggerHint, { permission: permissionName('event:trigger'), code: <Code>event:trigger</Code> })}
      <Box mt="md" ta="left">
        {event ? (
          <TriggerExample path={{ org, prj: event.prj, app: event.app, evt: event.slug }} apiKey="<API_KEY>" />
        ) : (
          <TriggerSnippets url={triggerUrl({ org, ...path })} apiKey="<API_KEY>" body={body} />
        )}
      </Box>
    </Empty>
  );
}
