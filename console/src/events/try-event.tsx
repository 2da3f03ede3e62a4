/** Triggers or simulates an event from the console, and shows the code to trigger it. */
import { Alert, Anchor, Button, Group, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { IconBolt, IconEye } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { api, take } from '../api.ts';
import type { Simulation } from '../api-types.ts';
import { GuardedButton, useAction } from '../components/actions.tsx';
import { confirm } from '../components/confirm.tsx';
import { fill } from '../components/fill.tsx';
import { Section } from '../components/page.tsx';
import { to } from '../paths.ts';
import { permissionName } from '../permissions.ts';
import { simulateCommand } from '../snippets/snippets.ts';
import { TriggerSnippets, triggerUrl } from '../snippets/trigger-snippets.tsx';
import { texts } from '../texts/events.ts';
import { describeReach } from './describe-reach.ts';
import type { EventPath, Sample } from './sample.ts';
import { SampleEditor, TakeRecent } from './sample-editor.tsx';
import { SimulationView } from './simulation-view.tsx';

const triggerPath = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/' as const;
const simulatePath = '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/' as const;

const exampleRecipient = 'ada@example.com';

interface TryEventProps {
  path: EventPath;
  sample: Sample;
  /** Whether a notification goes to recipients named in the trigger. */
  takesRecipients: boolean;
  recipients: string[];
  setRecipients: (recipients: string[]) => void;
  active: boolean;
}

export function TryEvent({ path, sample, takesRecipients, recipients, setRecipients, active }: TryEventProps) {
  const [result, setResult] = useState<Simulation>();
  const [occurrence, setOccurrence] = useState<string>();
  const [at, setAt] = useState('');
  const body = {
    context: sample.context ?? {},
    ...(takesRecipients && recipients.length > 0 && { options: { recipients } }),
  };
  const simulation = useAction({
    run: () => {
      const time = at ? { at: new Date(at).toISOString() } : {};
      return take(api.POST(simulatePath, { params: { path }, body: { ...body, ...time } }));
    },
    onDone: answer => {
      setResult(answer);
      setOccurrence(undefined);
    },
  });
  const triggering = useAction({
    run: () => take(api.POST(triggerPath, { params: { path }, body })),
    refresh: ['/api/o/{org}/occurrence/', '/api/o/{org}/p/{prj}/a/{app}/e/{evt}/'],
    onDone: answer => {
      setOccurrence(answer.occurrence);
      setResult(undefined);
    },
  });
  // Simulates first, so that the confirmation shows how many messages will be sent.
  const ask = useAction({
    run: async () => {
      const answer = await take(api.POST(simulatePath, { params: { path }, body }));
      return confirm({
        title: texts.triggerQuestion,
        children: describeReach(answer),
        action: texts.triggerNow,
      });
    },
    onDone: confirmed => {
      if (confirmed) triggering.mutate(undefined);
    },
  });
  const isInvalid = sample.context === undefined;
  // The palette opens the page with ?trigger; the page's title has the focus before.
  const [params] = useSearchParams();
  const buttons = useRef<HTMLDivElement>(null);
  const isAsked = params.has('trigger');
  useEffect(() => {
    if (isAsked) requestAnimationFrame(() => [...(buttons.current?.querySelectorAll('button') ?? [])].at(-1)?.focus());
  }, [isAsked]);

  return (
    <Section title={texts.tryIt} aside={<TakeRecent path={path} sample={sample} />}>
      <Stack gap="sm">
        <SampleEditor sample={sample} label={texts.triggerContext} />
        {takesRecipients && (
          <TagsInput
            label={texts.recipients}
            description={texts.recipientsHint}
            value={recipients}
            onChange={setRecipients}
            acceptValueOnBlur
            placeholder={recipients.length === 0 ? exampleRecipient : ''}
          />
        )}
        <TextInput
          type="datetime-local"
          label={texts.simulateAt}
          description={texts.simulateAtHint}
          value={at}
          onChange={event => setAt(event.currentTarget.value)}
        />
        <Group gap="xs" ref={buttons}>
          <GuardedButton
            permission="event:trigger"
            variant="default"
            leftSection={<IconEye size={14} stroke={1.6} />}
            disabled={isInvalid}
            loading={simulation.isPending}
            onClick={() => simulation.mutate(undefined)}
          >
            {texts.simulate}
          </GuardedButton>
          <GuardedButton
            permission="event:trigger"
            leftSection={<IconBolt size={14} stroke={1.6} />}
            disabled={isInvalid || !active}
            loading={ask.isPending || triggering.isPending}
            onClick={() => ask.mutate(undefined)}
          >
            {texts.trigger}
          </GuardedButton>
          {!active && (
            <Text size="xs" c="dimmed">
              {texts.inactiveHint}
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
        {result && (
          <>
            <SimulationView simulation={result} />
            <Group>
              <Button variant="subtle" color="gray" onClick={() => setResult(undefined)}>
                {texts.clear}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Section>
  );
}

interface HowToTriggerProps {
  path: EventPath;
  sample: Sample;
  /** Undefined if no notification goes to recipients named in the trigger; otherwise a trigger without them reaches no one. */
  recipients: string[] | undefined;
}

export function HowToTrigger({ path, sample, recipients }: HowToTriggerProps) {
  const { org, prj, app, evt } = path;
  const context = sample.context ?? {};
  const named = recipients?.length === 0 ? [exampleRecipient] : recipients;
  const who = named && { recipients: named };
  const command = simulateCommand([org, prj, app, evt].join('/'), { context, options: who });
  return (
    <Section title={texts.triggerFromYourApplication}>
      <TriggerSnippets
        url={triggerUrl(path)}
        apiKey="<API_KEY>"
        body={{ context, options: { ...who, dry_run: true } }}
        more={[{ language: texts.cli, code: command }]}
      />
      <Text size="xs" c="dimmed" mt={6}>
        {fill(texts.requiresAKey, {
          key: (
            <Anchor component={Link} to={to.keys(org)} inherit underline="always">
              {texts.apiKey}
            </Anchor>
          ),
          permission: permissionName('event:trigger'),
          code: <span className="mono">event:trigger</span>,
        })}
      </Text>
    </Section>
  );
}
