/** Triggering an event by hand, for real or only in thought, and how a program does it. */
import { Alert, Anchor, Button, Group, Stack, TagsInput, Text } from '@mantine/core';
import { IconBolt, IconEye } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { api, take } from '../api.ts';
import type { Simulation } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { count } from '../components/counts.tsx';
import { Section } from '../components/page.tsx';
import { to } from '../places.ts';
import { shellQuoted } from '../snippets/snippets.ts';
import { TriggerSnippets, triggerUrl } from '../snippets/trigger-snippets.tsx';
import { texts } from '../texts/events.ts';
import type { EventPath, Sample } from './sample.ts';
import { SampleEditor, TakeRecent } from './sample-editor.tsx';
import { SimulationView } from './simulation-view.tsx';

const trigger = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/' as const;
const simulate = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/' as const;

interface TryEventProps {
  path: EventPath;
  sample: Sample;
  /** Whether a notification goes to those who are named in the trigger. */
  asksForRecipients: boolean;
  recipients: string[];
  setRecipients: (recipients: string[]) => void;
  active: boolean;
}

export function TryEvent({ path, sample, asksForRecipients, recipients, setRecipients, active }: TryEventProps) {
  const [found, setFound] = useState<Simulation>();
  const [occurrence, setOccurrence] = useState<string>();
  const body = {
    context: sample.context ?? {},
    ...(asksForRecipients && recipients.length > 0 && { options: { recipients } }),
  };
  const simulation = useAction({
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
  // How many it would reach is looked up first: nobody should learn that afterwards.
  const ask = useAction({
    run: async () => {
      const answer = await take(api.POST(simulate, { params: { path }, body }));
      const messages = answer.notifications.reduce((sum, { deliveries }) => sum + deliveries, 0);
      return confirm({
        title: texts.triggerThisEvent,
        children: reachOf(messages, answer.complete),
        action: texts.triggerNow,
      });
    },
    onDone: sure => {
      if (sure) real.mutate(undefined);
    },
  });
  const broken = sample.context === undefined;

  return (
    <Section title={texts.tryIt} aside={<TakeRecent path={path} sample={sample} />}>
      <Stack gap="sm">
        <SampleEditor sample={sample} label={texts.triggerContext} />
        {asksForRecipients && (
          <TagsInput
            label={texts.recipients}
            description={texts.emailAddressesOrUsernamesPressEnter}
            value={recipients}
            onChange={setRecipients}
            acceptValueOnBlur
            placeholder={recipients.length === 0 ? 'ada@example.com' : ''}
          />
        )}
        <Group gap="xs">
          <GuardedButton
            permission="event:trigger"
            variant="default"
            leftSection={<IconEye size={14} stroke={1.6} />}
            disabled={broken}
            loading={simulation.isPending}
            onClick={() => simulation.mutate(undefined)}
          >
            {texts.simulate}
          </GuardedButton>
          <GuardedButton
            permission="event:trigger"
            leftSection={<IconBolt size={14} stroke={1.6} />}
            disabled={broken || !active}
            loading={ask.isPending || real.isPending}
            onClick={() => ask.mutate(undefined)}
          >
            {texts.trigger}
          </GuardedButton>
          {!active && (
            <Text size="xs" c="dimmed">
              {texts.thisEventIsInactiveTriggersAre}
            </Text>
          )}
        </Group>
        {occurrence && (
          <Alert color="teal" variant="light" p="xs" role="status">
            <Text size="sm" c="var(--mantine-color-text)">
              {texts.triggered}{' '}
              <Anchor component={Link} to={to.occurrence(path.org, occurrence)} inherit underline="always">
                {texts.viewOccurrence}
              </Anchor>
            </Text>
          </Alert>
        )}
        {found && (
          <>
            <SimulationView simulation={found} />
            <Group>
              <Button variant="subtle" color="gray" onClick={() => setFound(undefined)}>
                {texts.clear}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Section>
  );
}

function reachOf(messages: number, isComplete: boolean): string {
  if (messages === 0) return texts.noMessagesWillBeSentNo;
  const amount = `${count(messages)}${isComplete ? '' : '+'}`;
  return messages === 1 ? '1 message will be sent to a real recipient.' : texts.messagesWillBeSentToReal(amount);
}

export function HowToTrigger({ path, sample, recipients }: { path: EventPath; sample: Sample; recipients: string[] }) {
  const { org, prj, app, evt } = path;
  const context = sample.context ?? {};
  const command = `npx belfry simulate ${org}/${prj}/${app}/${evt} \\\n  --context ${shellQuoted(JSON.stringify(context))}`;
  const options = { ...(recipients.length > 0 && { recipients }), dry_run: true };
  return (
    <Section title={texts.triggerFromYourApplication}>
      <TriggerSnippets
        url={triggerUrl(path)}
        apiKey="<API_KEY>"
        body={{ context, options }}
        more={[{ language: texts.cli, code: command }]}
      />
      <Text size="xs" c="dimmed" mt={6}>
        {texts.requiresA}{' '}
        <Anchor component={Link} to={to.keys(org)} inherit underline="always">
          {texts.key}
        </Anchor>{' '}
        {texts.withThePermission} <span className="mono">event:trigger</span>.
      </Text>
    </Section>
  );
}
