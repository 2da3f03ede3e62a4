/** Triggering an event by hand, for real or only in thought, and how a program does it. */
import { Alert, Anchor, Button, Group, Stack, Tabs, TagsInput, Text } from '@mantine/core';
import { IconBolt, IconEye } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { api, take } from '../api.ts';
import type { Simulation } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { CopyBlock } from '../components/copy.tsx';
import { Section } from '../components/page.tsx';
import { to } from '../places.ts';
import type { EventPath, Sample } from './sample.ts';
import { SampleEditor, TakeRecent } from './sample-editor.tsx';
import { SimulationView } from './simulation-view.tsx';

const trigger = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/' as const;
const simulate = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/' as const;

interface TryEventProps {
  path: EventPath;
  sample: Sample;
  /** Whether somebody is listening: else it is worth saying. */
  asksForRecipients: boolean;
  active: boolean;
}

export function TryEvent({ path, sample, asksForRecipients, active }: TryEventProps) {
  const [recipients, setRecipients] = useState<string[]>([]);
  const [found, setFound] = useState<Simulation>();
  const [occurrence, setOccurrence] = useState<string>();
  const body = {
    context: sample.context ?? {},
    ...(recipients.length > 0 && { options: { recipients } }),
  };
  const thought = useAction({
    run: () => take(api.POST(simulate, { params: { path }, body })),
    onDone: answer => {
      setFound(answer);
      setOccurrence(undefined);
    },
  });
  const real = useAction({
    run: () => take(api.POST(trigger, { params: { path }, body })),
    refresh: [
      [path.org, 'recent'],
      [path.org, 'occurrences'],
    ],
    onDone: answer => {
      setOccurrence(answer.occurrence);
      setFound(undefined);
    },
  });
  const triggerNow = async () => {
    const sure = await confirm({
      title: 'Trigger for real?',
      children: 'Messages go out to everybody whom its notifications are for. Simulate first to see whom.',
      action: 'Trigger now',
    });
    if (sure) real.mutate(undefined);
  };
  const broken = sample.context === undefined;

  return (
    <Section title="Try it" aside={<TakeRecent path={path} sample={sample} />}>
      <Stack gap="sm">
        <SampleEditor sample={sample} label="Context of the trigger" />
        {asksForRecipients && (
          <TagsInput
            label="Recipients that the trigger names"
            description="Email addresses; Enter after each."
            value={recipients}
            onChange={setRecipients}
            placeholder={recipients.length === 0 ? 'ada@example.com' : ''}
          />
        )}
        <Group gap="xs">
          <GuardedButton
            permission="event:trigger"
            variant="default"
            leftSection={<IconEye size={14} stroke={1.6} />}
            disabled={broken}
            loading={thought.isPending}
            onClick={() => thought.mutate(undefined)}
          >
            Simulate
          </GuardedButton>
          <GuardedButton
            permission="event:trigger"
            leftSection={<IconBolt size={14} stroke={1.6} />}
            disabled={broken || !active}
            loading={real.isPending}
            onClick={() => void triggerNow()}
          >
            Trigger
          </GuardedButton>
          {!active && (
            <Text size="xs" c="dimmed">
              The event is inactive: triggers are refused.
            </Text>
          )}
        </Group>
        {occurrence && (
          <Alert color="teal" variant="light" p="xs" role="status">
            <Text size="sm" c="var(--mantine-color-text)">
              Triggered.{' '}
              <Anchor component={Link} to={to.occurrence(path.org, occurrence)} inherit underline="always">
                See what becomes of it
              </Anchor>
            </Text>
          </Alert>
        )}
        {found && (
          <>
            <SimulationView simulation={found} />
            <Group>
              <Button variant="subtle" color="gray" onClick={() => setFound(undefined)}>
                Clear
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Section>
  );
}

export function HowToTrigger({ path, sample }: { path: EventPath; sample: Sample }) {
  const { org, prj, app, evt } = path;
  const context = JSON.stringify(sample.context ?? {});
  // Inside single quotes of a shell, a quote ends them, stands by itself, and begins them again.
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const url = `${location.origin}/api/o/${org}/p/${prj}/a/${app}/e/${evt}/trigger/`;
  const curl = [
    `curl ${url} \\`,
    `  -H 'Authorization: Key <API_KEY>' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(`{"context": ${context}}`)}`,
  ].join('\n');
  const command = `npx belfry trigger ${org}/${prj}/${app}/${evt} \\\n  --context ${quoted(context)}`;
  return (
    <Section title="Trigger it from your application">
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="curl">curl</Tabs.Tab>
          <Tabs.Tab value="cli">Command line</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="curl">
          <CopyBlock value={curl} label="Copy the curl command" />
          <Text size="xs" c="dimmed" mt={6}>
            Needs a key with <span className="mono">event:trigger</span>. The answer has the occurrence's identifier.
          </Text>
        </Tabs.Panel>
        <Tabs.Panel value="cli">
          <CopyBlock value={command} label="Copy the command" />
          <Text size="xs" c="dimmed" mt={6}>
            With <span className="mono">simulate</span> in place of <span className="mono">trigger</span>, nothing is
            sent.
          </Text>
        </Tabs.Panel>
      </Tabs>
    </Section>
  );
}
